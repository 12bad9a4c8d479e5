/* SPDX-License-Identifier: MIT */
/*
 * threads.c: four threads in each rank use MPI at once (MPI_THREAD_MULTIPLE). Each has its own
 * communicator, on which it exchanges messages, runs collectives and uses a window while the others do the same;
 * on the world, which they share, thread t of a rank sends to thread t + 1 of the next one, told
 * apart by tag only.
 */
#include "thread_work.h"

enum { SHARED_TAG = 100 };

/* On the shared communicator; the message of thread t carries the key of its sender. */
static void pass_to_next_thread(const worker_t *worker, size_t bytes, long round)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int next = (worker->index + 1) % THREADS;
    worker_t sender = { .index = (worker->index + THREADS - 1) % THREADS };
    MPI_Request request;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, worker_key(worker, test_rank, right, 2, round));
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, SHARED_TAG + worker->index, MPI_COMM_WORLD,
              &request);
    MPI_Send(out, (int) bytes, MPI_BYTE, right, SHARED_TAG + next, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_PATTERN("from the thread before", in, bytes,
                   worker_key(&sender, left, test_rank, 2, round));
    guarded_free(in);
    guarded_free(out);
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    for (long round = 0; round < worker->rounds; round++) {
        worker_exchange(worker, random_size(&worker->random, test_options.bytes), round);
        /* The size must be known to the neighbor thread too: it follows from the round alone. */
        pass_to_next_thread(worker, (size_t) (round * round * 37) % (test_options.bytes + 1),
                            round);
        worker_collectives(worker, random_size(&worker->random, test_options.bytes), round);
        if (round % 4 == 0)
            worker_window(worker, random_size(&worker->random, test_options.bytes), round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    test_begin_threads(argc, argv,
                       (test_options_t) { .bytes = 200000, .rounds = 20, .seed = 1 },
                       MPI_THREAD_MULTIPLE);
    workers_run_in_duplicates(work);
    return test_end();
}
