/* SPDX-License-Identifier: MIT */
/*
 * threads.c: four threads in each rank use MPI at once (MPI_THREAD_MULTIPLE). Each has its own
 * communicator, on which it exchanges messages, runs collectives and uses a window while the others do the same;
 * on the world, which they share, thread t of a rank sends to thread t + 1 of the next one, told
 * apart by tag only.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { THREADS = 4, OWN_TAG = 1, SHARED_TAG = 100, BCAST_TAG = 7 };

typedef struct {
    int index;
    MPI_Comm comm;
    random_t random; /* equal in threads of the same index on all ranks */
    long rounds;
} worker_t;

static uint64_t key_of(const worker_t *worker, int source, int dest, int tag, long round)
{
    uint64_t index = (uint64_t) round * THREADS + (uint64_t) worker->index;
    return pattern_key(test_options.seed, source, dest, tag, index);
}

/* One message from and to each rank on the thread's own communicator, the receives in any order. */
static void exchange_with_all(const worker_t *worker, size_t bytes, long round)
{
    MPI_Request *sends = malloc((size_t) test_size * sizeof(*sends));
    unsigned char **out = malloc((size_t) test_size * sizeof(*out));
    int *seen = calloc((size_t) test_size, sizeof(*seen));
    for (int peer = 0; peer < test_size; peer++) {
        out[peer] = pattern_alloc(bytes, key_of(worker, test_rank, peer, OWN_TAG, round));
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
                       key_of(worker, source, test_rank, OWN_TAG, round));
        guarded_free(in);
    }
    MPI_Waitall(test_size, sends, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < test_size; peer++)
        guarded_free(out[peer]);
    free(sends);
    free(out);
    free(seen);
}

/* On the shared communicator; the message of thread t carries the key of its sender. */
static void pass_to_next_thread(const worker_t *worker, size_t bytes, long round)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int next = (worker->index + 1) % THREADS;
    worker_t sender = { .index = (worker->index + THREADS - 1) % THREADS };
    MPI_Request request;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, key_of(worker, test_rank, right, 2, round));
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, SHARED_TAG + worker->index, MPI_COMM_WORLD,
              &request);
    MPI_Send(out, (int) bytes, MPI_BYTE, right, SHARED_TAG + next, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_PATTERN("from the thread before", in, bytes,
                   key_of(&sender, left, test_rank, 2, round));
    guarded_free(in);
    guarded_free(out);
}

static void run_collectives(const worker_t *worker, size_t bytes, long round)
{
    int root = (int) (round % test_size), sum, mine = test_rank + worker->index;
    uint64_t key = key_of(worker, root, 0, BCAST_TAG, round);
    unsigned char *data = test_rank == root ? pattern_alloc(bytes, key) : guarded_alloc(bytes);
    MPI_Bcast(data, (int) bytes, MPI_BYTE, root, worker->comm);
    EXPECT_PATTERN("bcast", data, bytes, key);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, worker->comm);
    EXPECT_EQUAL("sum over ranks", test_size * (test_size - 1) / 2 + test_size * worker->index,
                 sum);
    MPI_Barrier(worker->comm);
    guarded_free(data);
}

/* Writes into the next rank's part of a window of the thread's own, and reads it again; so does the rank before. */
static void write_and_read(const worker_t *worker, size_t bytes, long round)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int count = (int) bytes;
    unsigned char *memory;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, key_of(worker, test_rank, right, 3, round));
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, worker->comm, &memory, &win);
    MPI_Win_lock_all(0, win);
    MPI_Put(out, count, MPI_BYTE, right, 0, count, MPI_BYTE, win);
    MPI_Win_flush(right, win);
    MPI_Get(in, count, MPI_BYTE, right, 0, count, MPI_BYTE, win);
    MPI_Win_flush_local(right, win);
    EXPECT_PATTERN("read again", in, bytes, key_of(worker, test_rank, right, 3, round));
    MPI_Win_flush_all(win);
    MPI_Barrier(worker->comm);
    MPI_Win_sync(win);
    if (bytes > 0)
        memcpy(in, memory, bytes); /* the window's memory has no guards */
    EXPECT_PATTERN("in the own part of the window", in, bytes, key_of(worker, left, test_rank, 3, round));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    guarded_free(in);
    guarded_free(out);
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    for (long round = 0; round < worker->rounds; round++) {
        exchange_with_all(worker, random_size(&worker->random, test_options.bytes), round);
        /* The size must be known to the neighbor thread too: it follows from the round alone. */
        pass_to_next_thread(worker, (size_t) (round * round * 37) % (test_options.bytes + 1),
                            round);
        run_collectives(worker, random_size(&worker->random, test_options.bytes), round);
        if (round % 4 == 0)
            write_and_read(worker, random_size(&worker->random, test_options.bytes), round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    test_begin_threads(argc, argv,
                       (test_options_t) { .bytes = 200000, .rounds = 20, .seed = 1 },
                       MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t) { .index = i, .rounds = test_options.rounds };
        workers[i].random.state = pattern_key(test_options.seed, i, 0, 0, 0);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            FAIL("thread %d could not be started", i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
    return test_end();
}
