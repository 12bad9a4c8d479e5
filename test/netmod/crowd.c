/* SPDX-License-Identifier: MIT */
/*
 * crowd.c: each rank talks to all others, one way after the other, for jobs in which a process may have fewer
 * connections than peers: messages between ranks drawn at random, MPI_Alltoall, and windows (Put, Get, Accumulate).
 * Checked: every byte.
 *
 * With quiet= the ranks send nothing after half of the rounds, until own sends of each have gone back to a smaller
 * ring, for so many seconds at most. How long that takes depends on what growing has cost on the machine.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { MESSAGES = 6 };   /* of each rank in a round, on average */
enum { NO_TAG = 32767 }; /* no message has it */

typedef struct {
    int source, dest;
    size_t bytes;
} message_t;

/* Of an array that as a whole has guards, or none. */
static void expect_block(const char *what, int rank, const unsigned char *block, size_t bytes, uint64_t key)
{
    const size_t right = pattern_verify(block, bytes, key);
    if (right != bytes)
        FAIL("%s of rank %d: byte %zu of %zu is wrong", what, rank, right, bytes);
}

static uint64_t key_of(const message_t *message, int number, long round)
{
    return pattern_key(test_options.seed, message->source, message->dest, number, (uint64_t) round);
}

/* All ranks draw the same messages. */
static message_t *draw_messages(int count, long round)
{
    random_t random = { .state = test_options.seed + 1000003 * (uint64_t) round };
    message_t *messages = malloc((size_t) count * sizeof(*messages));
    if (messages == NULL)
        FAIL("no memory");
    for (int i = 0; i < count; i++) {
        messages[i].source = (int) random_below(&random, (uint64_t) test_size);
        messages[i].dest = (messages[i].source + 1 + (int) random_below(&random, (uint64_t) test_size - 1)) % test_size;
        messages[i].bytes = random_size(&random, test_options.bytes);
    }
    return messages;
}

static void exchange_at_random(long round)
{
    const int count = MESSAGES * test_size;
    message_t *messages = draw_messages(count, round);
    unsigned char **data = calloc((size_t) count, sizeof(*data));
    MPI_Request *requests = malloc((size_t) count * sizeof(*requests));
    int pending = 0;
    if (data == NULL || requests == NULL)
        FAIL("no memory");
    for (int i = 0; i < count; i++) {
        const message_t *message = &messages[i];
        if (message->dest == test_rank) {
            data[i] = guarded_alloc(message->bytes);
            MPI_Irecv(data[i], (int) message->bytes, MPI_BYTE, message->source, i, MPI_COMM_WORLD,
                      &requests[pending++]);
        } else if (message->source == test_rank) {
            data[i] = pattern_alloc(message->bytes, key_of(message, i, round));
            MPI_Isend(data[i], (int) message->bytes, MPI_BYTE, message->dest, i, MPI_COMM_WORLD,
                      &requests[pending++]);
        }
    }
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) {
        if (data[i] != NULL)
            EXPECT_PATTERN("message", data[i], messages[i].bytes, key_of(&messages[i], i, round));
        guarded_free(data[i]);
    }
    free(messages), free(data), free(requests);
}

/* The first size fits a small slot, the second makes rings grow, the third goes without a copy. */
static void exchange_all(long round)
{
    static const size_t sizes[] = { 8, 3000, 70000 };
    const size_t block = sizes[round % 3];
    unsigned char *out = guarded_alloc(block * (size_t) test_size);
    unsigned char *in = guarded_alloc(block * (size_t) test_size);
    for (int rank = 0; rank < test_size; rank++)
        pattern_fill(out + (size_t) rank * block, block,
                     pattern_key(test_options.seed, test_rank, rank, 0, (uint64_t) round));
    MPI_Alltoall(out, (int) block, MPI_BYTE, in, (int) block, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < test_size; rank++)
        expect_block("block of MPI_Alltoall", rank, in + (size_t) rank * block, block,
                     pattern_key(test_options.seed, rank, test_rank, 0, (uint64_t) round));
    guarded_free(out);
    guarded_free(in);
}

static uint64_t put_key(int source, int dest, long round)
{
    return pattern_key(test_options.seed, source, dest, 1, (uint64_t) round);
}

/* Each rank puts its block into the windows of all others, in an order of its own, and gets one back. */
static void put_and_get(MPI_Win win, size_t block, unsigned char *out, long round)
{
    random_t random = { .state = test_options.seed + 77 * (uint64_t) test_rank };
    int *order = malloc((size_t) test_size * sizeof(*order));
    unsigned char *got = guarded_alloc(block);
    const MPI_Aint place = (MPI_Aint) ((size_t) test_rank * block);
    const int64_t one = 1;
    if (order == NULL)
        FAIL("no memory");
    random_order(&random, order, test_size);
    for (int i = 0; i < test_size; i++) {
        const int rank = order[i];
        unsigned char *from = out + (size_t) rank * block;
        pattern_fill(from, block, put_key(test_rank, rank, round));
        MPI_Put(from, (int) block, MPI_BYTE, rank, place, (int) block, MPI_BYTE, win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, rank, (MPI_Aint) (block * (size_t) test_size), 1, MPI_INT64_T, MPI_SUM,
                       win);
        if (i % 4 == 3)
            MPI_Win_flush(rank, win);
        else
            MPI_Win_flush_local(rank, win);
    }
    MPI_Win_flush_all(win);
    MPI_Get(got, (int) block, MPI_BYTE, order[0], place, (int) block, MPI_BYTE, win);
    MPI_Win_flush(order[0], win);
    EXPECT_PATTERN("block that was put and got", got, block, put_key(test_rank, order[0], round));
    guarded_free(got);
    free(order);
}

static void use_windows(long round)
{
    const size_t block = round % 2 == 0 ? 200 : 20000;
    const size_t bytes = block * (size_t) test_size;
    unsigned char *out = guarded_alloc(bytes);
    unsigned char *memory;
    int64_t sum;
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint) (bytes + sizeof(sum)), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, bytes + sizeof(sum));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    put_and_get(win, block, out, round);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    memcpy(&sum, memory + bytes, sizeof(sum));
    EXPECT_EQUAL("sum of MPI_Accumulate", test_size, sum);
    for (int rank = 0; rank < test_size; rank++)
        expect_block("block of MPI_Put", rank, memory + (size_t) rank * block, block, put_key(rank, test_rank, round));
    MPI_Win_unlock(test_rank, win);
    MPI_Win_free(&win);
    guarded_free(out);
}

static MPI_T_pvar_handle shrinks_variable(MPI_T_pvar_session session)
{
    MPI_T_pvar_handle handle;
    int index = -1, count;
    EXPECT_EQUAL("status of MPI_T_pvar_get_index", MPI_SUCCESS,
                 MPI_T_pvar_get_index("bufenlarge_shrinks", MPI_T_PVAR_CLASS_COUNTER, &index));
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    return handle;
}

static void be_quiet(double seconds)
{
    const double began = MPI_Wtime();
    MPI_T_pvar_session session;
    unsigned long long shrinks = 0;
    int provided, arrived;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle handle = shrinks_variable(session);
    while (shrinks == 0 && MPI_Wtime() - began < seconds) {
        MPI_Iprobe(MPI_ANY_SOURCE, NO_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE); /* progress */
        usleep(1000);
        MPI_T_pvar_read(session, handle, &shrinks);
    }
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session); /* no MPI_T_finalize(): MPICH 4.0 frees its own control variables in it */
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) {.bytes = 100000,.rounds = 3 });
    for (long round = 0; test_another_round(round); round++) {
        exchange_at_random(round);
        exchange_all(round);
        use_windows(round);
        if (round + 1 == test_options.rounds / 2 && test_options.quiet > 0)
            be_quiet(test_options.quiet);
    }
    return test_end();
}
