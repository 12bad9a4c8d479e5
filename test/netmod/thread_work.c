/* SPDX-License-Identifier: MIT */
#include "thread_work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_TAG = 1, BCAST_TAG = 7 };

uint64_t worker_key(const worker_t *worker, int source, int dest, int tag, long round)
{
    uint64_t index = (uint64_t) round * THREADS + (uint64_t) worker->index;
    return pattern_key(test_options.seed, source, dest, tag, index);
}

void worker_exchange(const worker_t *worker, size_t bytes, long round)
{
    MPI_Request *sends = malloc((size_t) test_size * sizeof(*sends));
    unsigned char **out = malloc((size_t) test_size * sizeof(*out));
    int *seen = calloc((size_t) test_size, sizeof(*seen));
    for (int peer = 0; peer < test_size; peer++) {
        out[peer] = pattern_alloc(bytes, worker_key(worker, test_rank, peer, OWN_TAG, round));
        MPI_Isend(out[peer], (int) bytes, MPI_BYTE, peer, OWN_TAG, worker->comm, &sends[peer]);
    }
    for (int i = 0; i < test_size; i++) {
        MPI_Status status;
        unsigned char *in = guarded_alloc(bytes);
        MPI_Recv(in, (int) bytes, MPI_BYTE, MPI_ANY_SOURCE, OWN_TAG, worker->comm, &status);
        int source = status.MPI_SOURCE;
        EXPECT_STATUS(&status, source, OWN_TAG, bytes);
        EXPECT_EQUAL("times this source's message came", 1, ++seen[source]);
        EXPECT_PATTERN("to this thread", in, bytes,
                       worker_key(worker, source, test_rank, OWN_TAG, round));
        guarded_free(in);
    }
    MPI_Waitall(test_size, sends, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < test_size; peer++)
        guarded_free(out[peer]);
    free(sends);
    free(out);
    free(seen);
}

void worker_collectives(const worker_t *worker, size_t bytes, long round)
{
    int root = (int) (round % test_size), sum, mine = test_rank + worker->index;
    uint64_t key = worker_key(worker, root, 0, BCAST_TAG, round);
    unsigned char *data = test_rank == root ? pattern_alloc(bytes, key) : guarded_alloc(bytes);
    MPI_Bcast(data, (int) bytes, MPI_BYTE, root, worker->comm);
    EXPECT_PATTERN("bcast", data, bytes, key);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, worker->comm);
    EXPECT_EQUAL("sum over ranks", test_size * (test_size - 1) / 2 + test_size * worker->index,
                 sum);
    MPI_Barrier(worker->comm);
    guarded_free(data);
}

void worker_window(const worker_t *worker, size_t bytes, long round)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int count = (int) bytes;
    unsigned char *memory;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, worker_key(worker, test_rank, right, 3, round));
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, worker->comm, &memory, &win);
    MPI_Win_lock_all(0, win);
    MPI_Put(out, count, MPI_BYTE, right, 0, count, MPI_BYTE, win);
    MPI_Win_flush(right, win);
    MPI_Get(in, count, MPI_BYTE, right, 0, count, MPI_BYTE, win);
    MPI_Win_flush_local(right, win);
    EXPECT_PATTERN("read again", in, bytes, worker_key(worker, test_rank, right, 3, round));
    MPI_Win_flush_all(win);
    MPI_Barrier(worker->comm);
    MPI_Win_sync(win);
    if (bytes > 0)
        memcpy(in, memory, bytes); /* the window's memory has no guards */
    EXPECT_PATTERN("in the own part of the window", in, bytes, worker_key(worker, left, test_rank, 3, round));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    guarded_free(in);
    guarded_free(out);
}

void workers_run(worker_t *workers, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].index = i;
        workers[i].rounds = test_options.rounds;
        workers[i].random.state = pattern_key(test_options.seed, i, 0, 0, 0);
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            FAIL("thread %d could not be started", i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

void workers_run_in_duplicates(void *(*work)(void *))
{
    worker_t workers[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    workers_run(workers, work);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
}
