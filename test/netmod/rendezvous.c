/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.c: messages whose data goes without a copy, at every size where something changes, up to bytes=
 * (64 MiB at most): expected, probed, matched by probe, from any source; received into too little room; with a
 * receive taken back while they come; many at once in both directions. Ranks work round the ring.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { TAG = 21, GO_TAG = 22, MANY = 10, MODES = 4 };

/* Where the data path changes: smallest knob, slots, default size, one write, all writes in flight. */
static const size_t edges[] = { 1024, 8192, 65536, 131072, 1 << 20, 4 << 20, 16 << 20, 64 << 20 };
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

static int left, right;

static uint64_t key_of(int source, int dest, uint64_t index)
{
    return pattern_key(test_options.seed, source, dest, TAG, index);
}

/* ---- every size, every way to receive ------------------------------------------------------- */

static void receive_probed(int how, unsigned char *in, size_t bytes, MPI_Status *status)
{
    MPI_Message message;
    int found = 0;
    if (how == 1) {
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status);
        EXPECT_STATUS(status, left, TAG, bytes);
        MPI_Recv(in, (int) bytes, MPI_BYTE, status->MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
    } else if (how == 2) {
        while (!found)
            MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, status);
        EXPECT_STATUS(status, left, TAG, bytes);
        MPI_Mrecv(in, (int) bytes, MPI_BYTE, &message, status);
    } else {
        MPI_Request request;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, status);
        MPI_Imrecv(in, (int) bytes, MPI_BYTE, &message, &request);
        MPI_Wait(&request, status);
    }
}

/* how: 0 expected, 1 probed, 2 and 3 matched by probe. */
static void check_size(size_t bytes, int how, int synchronous)
{
    MPI_Request requests[2];
    MPI_Status status;
    unsigned char *in = guarded_alloc(bytes), *out = pattern_alloc(bytes, key_of(test_rank, right, bytes));
    if (how == 0)
        MPI_Irecv(in, (int) bytes, MPI_BYTE, synchronous ? MPI_ANY_SOURCE : left, TAG, MPI_COMM_WORLD, &requests[0]);
    if (synchronous)
        MPI_Issend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    if (how == 0)
        MPI_Wait(&requests[0], &status);
    else
        receive_probed(how, in, bytes, &status);
    EXPECT_STATUS(&status, left, TAG, bytes);
    EXPECT_PATTERN("large message", in, bytes, key_of(left, test_rank, bytes));
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    EXPECT_PATTERN("what was sent", out, bytes, key_of(test_rank, right, bytes));
    guarded_free(in);
    guarded_free(out);
    MPI_Barrier(MPI_COMM_WORLD); /* the next one may be from any source */
}

static void check_sizes(void)
{
    check_size(1, 0, 0);
    for (int i = 0; i < EDGES && edges[i] <= test_options.bytes; i++) {
        for (size_t bytes = edges[i] - 1; bytes <= edges[i] + 1; bytes++) {
            for (int how = 0; how < MODES; how++)
                check_size(bytes, how, (how + i) % 2);
        }
    }
}

/* ---- too little room ------------------------------------------------------------------------ */

/* What goes through rings is not kept when it does not fit; what is read is kept as far as it fits. MPI allows both. */
static void expect_part(unsigned char *in, size_t room, int must_be_there)
{
    const char *knob = getenv("MPIR_CVAR_BUFENLARGE_RENDEZVOUS");
    const unsigned char fresh = 0xee; /* as guarded_alloc() leaves it */
    size_t untouched = 0;
    while (untouched < room && in[untouched] == fresh)
        untouched++;
    if (untouched < room || (must_be_there && !(knob && strcmp(knob, "off") == 0)))
        EXPECT_PATTERN("the part that fits", in, room, key_of(left, test_rank, 0));
    guarded_check(in);
}

/* The part that fits is right, the count says how much it is, and the next message is right. */
static void check_truncation(size_t bytes, size_t room, int expected)
{
    MPI_Request requests[2];
    MPI_Status status;
    int class;
    unsigned char *in = guarded_alloc(room), *out = pattern_alloc(bytes, key_of(test_rank, right, 0));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (expected)
        MPI_Irecv(in, (int) room, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    if (!expected) {
        MPI_Probe(left, TAG, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, left, TAG, bytes);
        MPI_Irecv(in, (int) room, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Error_class(MPI_Wait(&requests[0], &status), &class);
    EXPECT_EQUAL("error class of a truncated receive", MPI_ERR_TRUNCATE, class);
    EXPECT_TRUNCATED(&status, left, TAG, room);
    expect_part(in, room, bytes >= 1 << 20 && !test_shares_memory(left));
    EXPECT_EQUAL("result of the truncated send", MPI_SUCCESS, MPI_Wait(&requests[1], &status));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    guarded_free(in);
    guarded_free(out);
    check_size(bytes, expected ? 0 : 2, 0);
}

static void check_truncations(void)
{
    for (int i = 2; i < EDGES && edges[i] <= test_options.bytes && edges[i] <= 4 << 20; i++) {
        const size_t rooms[] = { 0, 1, 4095, edges[i] / 2 + 3, edges[i] - 1 };
        for (int j = 0; j < 5; j++) {
            check_truncation(edges[i], rooms[j], 0);
            check_truncation(edges[i], rooms[j], 1);
        }
    }
}

/* ---- taken back ----------------------------------------------------------------------------- */

/* The receive is cancelled at any time while its message comes: it gets the message whole, or the next receive does. */
static void check_cancel(size_t bytes, int polls)
{
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled, flag;
    unsigned char *in = guarded_alloc(bytes), *out = pattern_alloc(bytes, key_of(test_rank, right, 1));
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < polls; i++)
        MPI_Iprobe(left, GO_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled)
        MPI_Recv(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, left, TAG, bytes);
    EXPECT_PATTERN("received around a cancel", in, bytes, key_of(left, test_rank, 1));
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    guarded_free(in);
    guarded_free(out);
}

/* ---- many at once --------------------------------------------------------------------------- */

/* MANY messages to each neighbor, received by tag in another order, finished in a third. */
static void check_many(long round)
{
    random_t random = { pattern_key(test_options.seed, 0, 0, TAG, (uint64_t) round) };
    unsigned char *in[2 * MANY], *out[2 * MANY];
    size_t bytes[2 * MANY];
    int order[2 * MANY];
    MPI_Request requests[4 * MANY];
    MPI_Status status;
    for (int i = 0; i < 2 * MANY; i++)
        bytes[i] = 60000 + random_size(&random, test_options.bytes / 4);
    random.state ^= (uint64_t) test_rank;
    random_order(&random, order, 2 * MANY);
    for (int i = 0; i < 2 * MANY; i++) {
        const int dest = i < MANY ? right : left;
        out[i] = pattern_alloc(bytes[i], key_of(test_rank, dest, (uint64_t) i));
        MPI_Isend(out[i], (int) bytes[i], MPI_BYTE, dest, TAG + i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < 2 * MANY; i++) {
        const int j = order[i];
        in[j] = guarded_alloc(bytes[j]);
        MPI_Irecv(in[j], (int) bytes[j], MPI_BYTE, j < MANY ? left : right, TAG + j, MPI_COMM_WORLD,
                  &requests[2 * MANY + j]);
    }
    for (int i = 0; i < 4 * MANY; i++) {
        int index;
        MPI_Waitany(4 * MANY, requests, &index, &status);
        if (index < 2 * MANY)
            continue;
        index -= 2 * MANY;
        const int source = index < MANY ? left : right;
        EXPECT_STATUS(&status, source, TAG + index, bytes[index]);
        EXPECT_PATTERN("one of many", in[index], bytes[index], key_of(source, test_rank, (uint64_t) index));
    }
    for (int i = 0; i < 2 * MANY; i++) {
        guarded_free(in[i]);
        guarded_free(out[i]);
    }
}

static void check_replace(size_t bytes)
{
    unsigned char *data = pattern_alloc(bytes, key_of(test_rank, right, 2));
    MPI_Status status;
    MPI_Sendrecv_replace(data, (int) bytes, MPI_BYTE, right, TAG, left, TAG, MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, left, TAG, bytes);
    EXPECT_PATTERN("replaced", data, bytes, key_of(left, test_rank, 2));
    guarded_free(data);
    data = pattern_alloc(2 * bytes, key_of(test_rank, test_rank, 3));
    MPI_Sendrecv(data, (int) bytes, MPI_BYTE, test_rank, TAG, data + bytes, (int) bytes, MPI_BYTE, test_rank, TAG,
                 MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, test_rank, TAG, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != data[bytes + i])
            FAIL("to oneself: byte %zu: expected 0x%02x, got 0x%02x", i, data[i], data[bytes + i]);
    }
    guarded_free(data);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 4 << 20, .rounds = 4, .seed = 1 });
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    check_sizes();
    check_truncations();
    for (int polls = 0; polls < 60; polls += 3)
        check_cancel(polls % 2 ? 100000 : 2000000, polls);
    for (long round = 0; test_another_round(round); round++)
        check_many(round);
    check_replace(100000);
    check_replace(3 << 20);
    return test_end();
}
