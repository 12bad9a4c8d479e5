/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_types.c: large messages between derived datatypes, each kind against each other: blocks just small and
 * just large enough to be read in place, as many as are and one more, forward, backward, overlapping when they are
 * sent, with types freed right after the call; short messages into long types, which may end within a block, and long
 * ones into short types. Ranks work round the ring; expected and unexpected.
 */
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "support.h"

enum { TAG = 31, FILLER = 0x5a, KINDS = 10, UNIT = 63 * 64 * 65 * 16 };

static const char *const kind_names[KINDS] = { "contiguous",  "two blocks",       "63 blocks",    "64 blocks",
                                               "65 blocks",   "blocks too small", "backward",     "struct",
                                               "resized",     "nested" };

static layout_t plain(int bytes)
{
    MPI_Datatype type;
    MPI_Type_contiguous(bytes, MPI_BYTE, &type);
    layout_t layout = layout_of_basic(type);
    MPI_Type_free(&type);
    return layout;
}

/* Each holds `bytes` bytes, a multiple of UNIT / 16. */
static layout_t make(int kind, int bytes)
{
    switch (kind) {
        case 0:
            return layout_contiguous(plain(bytes), 1);
        case 1:
            return layout_hvector(plain(bytes / 2), 2, 1, bytes / 2 + 1);
        case 2:
            return layout_hvector(plain(bytes / 63), 63, 1, bytes / 63 + 5);
        case 3:
            return layout_hvector(plain(bytes / 64), 64, 1, bytes / 64 + 4096);
        case 4:
            return layout_hvector(plain(bytes / 65), 65, 1, bytes / 65 + 7);
        case 5:
            return layout_hvector(plain(16), bytes / 16, 1, 19);
        case 6:
            return layout_hvector(plain(bytes / 16), 16, 1, -(bytes / 16) - 3);
        case 7:
            return layout_struct(plain(bytes / 2), layout_hvector(plain(bytes / 8), 4, 1, bytes / 8 + 100), 33);
        case 8:
            return layout_contiguous(layout_resized(plain(bytes / 8), -64, bytes / 8 + 1000), 8);
        default:
            return layout_vector(layout_hvector(plain(bytes / 32), 4, 1, bytes / 32 + 11), 8, 1, 2);
    }
}

static unsigned char *memory_for(const layout_t *layout, unsigned char **origin_p)
{
    ptrdiff_t low;
    size_t bytes = layout_span(layout, 1, &low);
    unsigned char *memory = guarded_alloc(bytes);
    memset(memory, FILLER, bytes);
    *origin_p = memory - low;
    return memory;
}

/* The first `filled` bytes of the stream are in the layout's places, all else is as it was. */
static void check_memory(const layout_t *layout, unsigned char *memory, unsigned char *origin, size_t filled,
                         uint64_t key, const char *what)
{
    ptrdiff_t low;
    size_t span = layout_span(layout, 1, &low);
    unsigned char *stream = malloc(layout->bytes);
    layout_gather(layout, 1, origin, stream);
    size_t wrong = pattern_verify(stream, filled, key);
    if (wrong < filled)
        FAIL("%s: byte %zu of %zu: expected 0x%02x, got 0x%02x", what, wrong, filled, pattern_byte(key, wrong),
             stream[wrong]);
    memset(stream, FILLER, filled);
    layout_scatter(layout, 1, origin, stream);
    for (size_t i = 0; i < span; i++) {
        if (memory[i] != FILLER)
            FAIL("%s: byte %zu of %zu in memory was written, though it is in a gap or behind the message", what, i,
                 span);
    }
    free(stream);
    guarded_free(memory);
}

typedef struct {
    layout_t out, in;
    size_t sent, room; /* bytes, by the layouts */
    int expected, truncated, receive_kind;
} exchange_t;

static uint64_t key_of(int source, int dest, size_t bytes)
{
    return pattern_key(test_options.seed, source, dest, TAG, bytes);
}

static void run_exchange(exchange_t *x)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    int error, class = MPI_SUCCESS;
    unsigned char *out_origin, *out = memory_for(&x->out, &out_origin);
    unsigned char *in_origin, *in = memory_for(&x->in, &in_origin);
    unsigned char *stream = malloc(x->sent);
    MPI_Request requests[2];
    MPI_Status status;
    pattern_fill(stream, x->sent, key_of(test_rank, right, x->sent));
    layout_scatter(&x->out, 1, out_origin, stream);
    if (x->expected)
        MPI_Irecv(in_origin, 1, x->in.type, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out_origin, 1, x->out.type, right, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&x->out.type);
    if (!x->expected) {
        MPI_Probe(left, TAG, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, left, TAG, x->sent);
        MPI_Irecv(in_origin, 1, x->in.type, left, TAG, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Type_free(&x->in.type);
    error = MPI_Wait(&requests[0], &status);
    MPI_Error_class(error, &class);
    EXPECT_EQUAL("error class", x->truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS, class);
    if (x->truncated)
        EXPECT_TRUNCATED(&status, left, TAG, x->room);
    else
        EXPECT_STATUS(&status, left, TAG, x->sent);
    EXPECT_EQUAL("result of the send", MPI_SUCCESS, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    if (x->truncated) /* what a truncated receive leaves in its places is not said */
        guarded_free(in);
    else
        check_memory(&x->in, in, in_origin, x->sent, key_of(left, test_rank, x->sent), kind_names[x->receive_kind]);
    free(stream);
    guarded_free(out);
    layout_destroy(&x->out);
    layout_destroy(&x->in);
}

static void exchange(int send_kind, int receive_kind, int sent, int room, int expected)
{
    exchange_t x = { .expected = expected, .truncated = sent > room, .receive_kind = receive_kind };
    x.out = make(send_kind, sent);
    x.in = make(receive_kind, room);
    x.sent = x.out.bytes;
    x.room = x.in.bytes;
    run_exchange(&x);
}

/* A contiguous message of any number of bytes, which ends anywhere in the receiver's type. */
static void exchange_part(int receive_kind, int sent, int room, int expected)
{
    exchange_t x = { .expected = expected, .truncated = sent > room, .receive_kind = receive_kind };
    x.out = plain(sent);
    x.in = make(receive_kind, room);
    x.sent = x.out.bytes;
    x.room = x.in.bytes;
    run_exchange(&x);
}

/* Nothing of a type with gaps is wanted, by count or since the type is empty. */
static void check_no_room(int sent, int expected)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size, class;
    unsigned char *out = pattern_alloc((size_t) sent, 1), in[64];
    layout_t gaps = layout_vector(layout_of_basic(MPI_BYTE), 4, 4, 5);
    MPI_Request requests[2];
    MPI_Status status;
    memset(in, FILLER, sizeof(in));
    if (expected)
        MPI_Irecv(in, 0, gaps.type, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, sent, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    if (!expected) {
        MPI_Probe(left, TAG, MPI_COMM_WORLD, &status);
        MPI_Irecv(in, 0, gaps.type, left, TAG, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Error_class(MPI_Wait(&requests[0], &status), &class);
    EXPECT_EQUAL("error class without room", MPI_ERR_TRUNCATE, class);
    EXPECT_TRUNCATED(&status, left, TAG, 0);
    EXPECT_EQUAL("result of the send", MPI_SUCCESS, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    for (size_t i = 0; i < sizeof(in); i++)
        EXPECT_EQUAL("memory without room", FILLER, in[i]);
    guarded_free(out);
    layout_destroy(&gaps);
}

/* Sent from the same memory twenty times: rows that overlap. MPI allows it for sends. */
static void check_overlap(int row, int step)
{
    enum { ROWS = 20 };
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    const size_t span = (size_t) (row + (ROWS - 1) * step);
    unsigned char *out = pattern_alloc(span, key_of(test_rank, right, span));
    unsigned char *in = guarded_alloc((size_t) (ROWS * row)), *expected = malloc(span);
    MPI_Datatype rows;
    MPI_Request request;
    MPI_Type_create_hvector(ROWS, row, step, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    MPI_Isend(out, 1, rows, right, TAG, MPI_COMM_WORLD, &request);
    MPI_Type_free(&rows);
    MPI_Recv(in, ROWS * row, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pattern_fill(expected, span, key_of(left, test_rank, span));
    for (int i = 0; i < ROWS; i++) {
        if (memcmp(in + (size_t) i * (size_t) row, expected + i * step, (size_t) row) != 0)
            FAIL("row %d of overlapping rows of %d bytes, %d apart, is wrong", i, row, step);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    guarded_free(out);
    guarded_free(in);
    free(expected);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* Blocks are read in place from 16384 bytes each on. */
    for (int i = 0; i < KINDS * KINDS; i++)
        exchange(i / KINDS, i % KINDS, UNIT / 16, UNIT / 16, (i / KINDS + i) % 2);
    for (int kind = 0; kind < KINDS; kind++) {
        const int sent[] = { 70000, 1000003, UNIT / 2 + 1, UNIT - 1 };
        for (int i = 0; i < 4; i++)
            exchange_part(kind, sent[i], UNIT, (i + kind) % 2);
        exchange(kind, (kind + 3) % KINDS, UNIT, UNIT / 16, 0);
        exchange(kind, (kind + 3) % KINDS, UNIT, UNIT / 16, 1);
        exchange(kind, (kind + 1) % KINDS, UNIT, UNIT, 1);
        exchange(kind, (kind + 7) % KINDS, UNIT, UNIT, 0);
    }
    for (int expected = 0; expected < 2; expected++) {
        check_no_room(100000, expected);
        check_no_room(2000, expected);
    }
    check_overlap(10000, 4096);
    check_overlap(70000, 1);
    check_overlap(5000, 0);
    return test_end();
}
