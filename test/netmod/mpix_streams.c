/* SPDX-License-Identifier: MIT */
/*
 * mpix_streams.c: four threads in each rank, each with an MPIX stream (MPICH 4.1 and later) and a communicator on it.
 * The ranks make their streams in different orders, so that the two sides of a message have different VCIs. On a
 * communicator with all streams, thread t of a rank sends from its own to the next thread's of the next rank. Before
 * that, each rank sends on a stream to one that waits elsewhere.
 */
#include "thread_work.h"

enum { EARLY_TAG = 5, EARLY_BYTES = 100, MULTIPLEX_TAG = 200 };

static MPIX_Stream streams[THREADS];
static MPI_Comm all_streams;

static void make_streams(void)
{
    for (int i = 0; i < THREADS; i++) {
        const int thread = (i + test_rank) % THREADS;
        if (MPIX_Stream_create(MPI_INFO_NULL, &streams[thread]) != MPI_SUCCESS)
            FAIL("stream %d of %d could not be made; see MPIR_CVAR_CH4_RESERVE_VCIS", i + 1, THREADS);
    }
}

/* No rank but the last looks at the stream's communicator before the other message has come. */
static void send_to_one_that_waits_elsewhere(MPI_Comm comm)
{
    const int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    const uint64_t out_key = pattern_key(test_options.seed, test_rank, right, EARLY_TAG, 0);
    const uint64_t in_key = pattern_key(test_options.seed, left, test_rank, EARLY_TAG, 0);
    unsigned char *out = pattern_alloc(EARLY_BYTES, out_key), *in = guarded_alloc(EARLY_BYTES);
    if (test_rank > 0)
        MPI_Recv(NULL, 0, MPI_BYTE, left, EARLY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, EARLY_BYTES, MPI_BYTE, right, EARLY_TAG, comm);
    MPI_Send(NULL, 0, MPI_BYTE, right, EARLY_TAG, MPI_COMM_WORLD);
    if (test_rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, left, EARLY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, EARLY_BYTES, MPI_BYTE, left, EARLY_TAG, comm, MPI_STATUS_IGNORE);
    EXPECT_PATTERN("sent before", in, EARLY_BYTES, in_key);
    guarded_free(in);
    guarded_free(out);
}

static void pass_to_next_stream(const worker_t *worker, size_t bytes, long round)
{
    const int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    const int next = (worker->index + 1) % THREADS, before = (worker->index + THREADS - 1) % THREADS;
    const worker_t sender = { .index = before };
    const int tag = MULTIPLEX_TAG + worker->index;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, worker_key(worker, test_rank, right, MULTIPLEX_TAG, round));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPIX_Stream_irecv(in, (int) bytes, MPI_BYTE, left, tag, all_streams, before, worker->index,
                      &requests[0]);
    MPIX_Stream_isend(out, (int) bytes, MPI_BYTE, right, MULTIPLEX_TAG + next, all_streams, worker->index, next,
                      &requests[1]);
    MPI_Waitall(2, requests, statuses);
    EXPECT_STATUS(&statuses[0], left, tag, bytes);
    EXPECT_PATTERN("from the stream before", in, bytes, worker_key(&sender, left, test_rank, MULTIPLEX_TAG, round));
    guarded_free(in);
    guarded_free(out);
}

/* Finds each message before it receives it, and sends it so that this ends when it is received. */
static void probe_and_receive(const worker_t *worker, size_t bytes, long round)
{
    const int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = pattern_alloc(bytes, worker_key(worker, test_rank, right, MULTIPLEX_TAG, round));
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    MPI_Issend(out, (int) bytes, MPI_BYTE, right, MULTIPLEX_TAG, worker->comm, &request);
    if (round % 2)
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->comm, &message, &status);
    else
        MPI_Mprobe(left, MULTIPLEX_TAG, worker->comm, &message, &status);
    EXPECT_STATUS(&status, left, MULTIPLEX_TAG, bytes);
    MPI_Mrecv(in, (int) bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_PATTERN("probed", in, bytes, worker_key(worker, left, test_rank, MULTIPLEX_TAG, round));
    guarded_free(in);
    guarded_free(out);
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    for (long round = 0; round < worker->rounds; round++) {
        worker_exchange(worker, random_size(&worker->random, test_options.bytes), round);
        probe_and_receive(worker, random_size(&worker->random, test_options.bytes), round);
        /* The size must be known to the neighbor thread too: it follows from the round alone. */
        pass_to_next_stream(worker, (size_t) (round * round * 37) % (test_options.bytes + 1), round);
        worker_collectives(worker, random_size(&worker->random, test_options.bytes), round);
        if (round % 4 == 0)
            worker_window(worker, random_size(&worker->random, test_options.bytes), round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    worker_t workers[THREADS];
    test_begin_threads(argc, argv, (test_options_t) { .bytes = 200000, .rounds = 20, .seed = 1 },
                       MPI_THREAD_MULTIPLE);
    make_streams();
    for (int i = 0; i < THREADS; i++)
        MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[i], &workers[i].comm);
    MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, THREADS, streams, &all_streams);
    send_to_one_that_waits_elsewhere(workers[0].comm);
    workers_run(workers, work);
    MPI_Comm_free(&all_streams);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&workers[i].comm);
        MPIX_Stream_free(&streams[i]);
    }
    return test_end();
}
