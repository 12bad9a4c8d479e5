/* SPDX-License-Identifier: MIT */
/*
 * datatypes.c: messages whose send and receive datatypes differ. Each kind of layout is sent to
 * each other kind, over blocks from one byte to half a message, up to bytes= (8 MiB at most);
 * types are freed right after the send and the receive have started. Checked: every byte of the
 * data, that no gap was written, short messages into long types, and pack and unpack.
 */
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "support.h"

enum { TAG = 9, FILLER = 0x55, ELEMENTS = 4, RUNS = 32 };

/* Every kind holds `n` basic elements, a multiple of 64. */
enum kind {
    CONTIGUOUS,
    VECTOR_TINY,
    VECTOR_BLOCKS,
    VECTOR_HALVES,
    VECTOR_BACKWARD,
    INDEXED,
    RESIZED,
    COLUMNS,
    SUBARRAY,
    STRUCT,
    NESTED,
    KINDS
};

static const char *const kind_names[] = { "contiguous",      "vector of single elements",
                                          "vector",          "vector of two halves",
                                          "backward vector", "indexed",
                                          "resized",         "columns of a matrix",
                                          "subarray",        "struct",
                                          "nested" };

/* RUNS runs of random lengths at growing places, the second half of them before the first. */
static layout_t random_indexed(layout_t basic, int n)
{
    random_t random = { pattern_key(test_options.seed, n, 0, 0, 1) };
    int lengths[RUNS], places[RUNS];
    int left = n, next = 0;
    for (int i = 0; i < RUNS; i++) {
        int most = 2 * left / (RUNS - i);
        lengths[i] = i == RUNS - 1 ? left : (int) random_below(&random, (uint64_t) most + 1);
        left -= lengths[i];
    }
    for (int i = 0; i < RUNS; i++) {
        int run = (i + RUNS / 2) % RUNS;
        places[run] = next;
        next += lengths[run] + 1 + (int) random_below(&random, 5);
    }
    return layout_indexed(basic, RUNS, lengths, places);
}

static layout_t nested(layout_t basic, int n)
{
    layout_t pair = layout_vector(basic, 2, 1, 3);
    layout_t four = layout_indexed(pair, 2, (const int[]) { 1, 1 }, (const int[]) { 2, 0 });
    layout_t sixteen = layout_hvector(four, 4, 1, four.extent + 5 * basic.extent);
    return layout_vector(sixteen, n / 16, 1, 2);
}

static layout_t make(enum kind kind, MPI_Datatype basic_type, int n)
{
    layout_t basic = layout_of_basic(basic_type);
    ptrdiff_t unit = basic.extent;
    switch (kind) {
        case CONTIGUOUS:
            return layout_contiguous(basic, n);
        case VECTOR_TINY:
            return layout_vector(basic, n, 1, 2);
        case VECTOR_BLOCKS:
            return layout_vector(basic, n / 16, 16, 17);
        case VECTOR_HALVES:
            return layout_hvector(basic, 2, n / 2, (n / 2 + 3) * unit);
        case VECTOR_BACKWARD:
            return layout_vector(basic, n / 16, 16, -20);
        case INDEXED:
            return random_indexed(basic, n);
        case RESIZED:
            return layout_contiguous(
                layout_resized(layout_contiguous(basic, 4), -2 * unit, 7 * unit), n / 4);
        case COLUMNS: /* consecutive elements of this type interleave */
            return layout_resized(layout_vector(basic, n, 1, ELEMENTS), 0, unit);
        case SUBARRAY:
            return layout_subarray(basic, (const int[]) { n / 16 + 3, 21 },
                                   (const int[]) { n / 16, 16 }, (const int[]) { 2, 3 });
        case STRUCT:
            return layout_struct(layout_contiguous(basic, n / 2),
                                 layout_vector(layout_of_basic(basic_type), n / 4, 2, 3),
                                 (size_t) (3 * unit));
        case NESTED:
            return nested(basic, n);
        case KINDS:
            break;
    }
    abort();
}

/* Guarded memory that `count` elements of a layout fit in; *origin_p is what MPI is given. */
static unsigned char *memory_for(const layout_t *layout, int count, unsigned char **origin_p)
{
    ptrdiff_t low;
    size_t bytes = layout_span(layout, count, &low);
    unsigned char *memory = guarded_alloc(bytes);
    memset(memory, FILLER, bytes);
    *origin_p = memory - low;
    return memory;
}

static void check_extent(const layout_t *layout, enum kind kind)
{
    MPI_Aint lower_bound, extent;
    int size;
    MPI_Type_get_extent(layout->type, &lower_bound, &extent);
    MPI_Type_size(layout->type, &size);
    EXPECT_EQUAL(kind_names[kind], layout->lower_bound, lower_bound);
    EXPECT_EQUAL(kind_names[kind], layout->extent, extent);
    EXPECT_EQUAL(kind_names[kind], layout->bytes, size);
}

/* What was received must be the stream in the layout's places and the filler everywhere else. */
static void check_memory(const layout_t *layout, int count, const unsigned char *memory,
                         const unsigned char *stream, const char *what)
{
    ptrdiff_t low;
    unsigned char *origin;
    size_t bytes = layout_span(layout, count, &low);
    unsigned char *expected = memory_for(layout, count, &origin);
    layout_scatter(layout, count, origin, stream);
    for (size_t i = 0; memcmp(expected, memory, bytes) != 0 && i < bytes; i++) {
        if (expected[i] != memory[i])
            FAIL("%s: byte %zu of %zu in memory: expected 0x%02x, got 0x%02x", what, i, bytes,
                 expected[i], memory[i]);
    }
    guarded_check(memory);
    guarded_free(expected);
}

/* To the right as one kind, from the left as another; `sent` of the elements are sent. */
static void exchange(enum kind send_kind, enum kind receive_kind, MPI_Datatype basic, int n,
                     int sent)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    layout_t out = make(send_kind, basic, n), in = make(receive_kind, basic, n);
    check_extent(&out, send_kind);
    check_extent(&in, receive_kind);
    size_t bytes = ELEMENTS * out.bytes, sent_bytes = (size_t) sent * out.bytes;
    unsigned char *out_origin, *in_origin;
    unsigned char *out_memory = memory_for(&out, ELEMENTS, &out_origin);
    unsigned char *in_memory = memory_for(&in, ELEMENTS, &in_origin);
    unsigned char *stream = malloc(bytes);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    pattern_fill(stream, bytes, pattern_key(test_options.seed, test_rank, right, n, 0));
    layout_scatter(&out, ELEMENTS, out_origin, stream);
    MPI_Irecv(in_origin, ELEMENTS, in.type, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&in.type);
    MPI_Isend(out_origin, sent, out.type, right, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&out.type);
    MPI_Waitall(2, requests, statuses);
    EXPECT_STATUS(&statuses[0], left, TAG, sent_bytes);
    pattern_fill(stream, bytes, pattern_key(test_options.seed, left, test_rank, n, 0));
    memset(stream + sent_bytes, FILLER, bytes - sent_bytes);
    check_memory(&in, ELEMENTS, in_memory, stream, kind_names[receive_kind]);
    free(stream);
    guarded_free(out_memory);
    guarded_free(in_memory);
    layout_destroy(&out);
    layout_destroy(&in);
}

/* Packed from one kind, sent as MPI_PACKED, received as MPI_PACKED and unpacked as another. */
static void exchange_packed(enum kind send_kind, enum kind receive_kind, MPI_Datatype basic, int n)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    layout_t out = make(send_kind, basic, n), in = make(receive_kind, basic, n);
    unsigned char *out_origin, *in_origin;
    unsigned char *out_memory = memory_for(&out, ELEMENTS, &out_origin);
    unsigned char *in_memory = memory_for(&in, ELEMENTS, &in_origin);
    unsigned char *stream = malloc(ELEMENTS * out.bytes);
    int room, packed = 0, unpacked = 0;
    MPI_Pack_size(ELEMENTS, out.type, MPI_COMM_WORLD, &room);
    unsigned char *send_data = guarded_alloc((size_t) room);
    unsigned char *receive_data = guarded_alloc((size_t) room);
    pattern_fill(stream, ELEMENTS * out.bytes,
                 pattern_key(test_options.seed, test_rank, right, n, 1));
    layout_scatter(&out, ELEMENTS, out_origin, stream);
    MPI_Pack(out_origin, ELEMENTS, out.type, send_data, room, &packed, MPI_COMM_WORLD);
    MPI_Sendrecv(send_data, packed, MPI_PACKED, right, TAG, receive_data, room, MPI_PACKED, left,
                 TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Unpack(receive_data, room, &unpacked, in_origin, ELEMENTS, in.type, MPI_COMM_WORLD);
    EXPECT_EQUAL("bytes packed and unpacked", packed, unpacked);
    pattern_fill(stream, ELEMENTS * out.bytes,
                 pattern_key(test_options.seed, left, test_rank, n, 1));
    check_memory(&in, ELEMENTS, in_memory, stream, kind_names[receive_kind]);
    free(stream);
    guarded_free(out_memory);
    guarded_free(in_memory);
    guarded_free(send_data);
    guarded_free(receive_data);
    layout_destroy(&out);
    layout_destroy(&in);
}

static void check_all_pairs(MPI_Datatype basic, int n)
{
    for (int send_kind = 0; send_kind < KINDS; send_kind++) {
        for (int receive_kind = 0; receive_kind < KINDS; receive_kind++)
            exchange((enum kind) send_kind, (enum kind) receive_kind, basic, n, ELEMENTS);
    }
}

/* Each kind once as sender and once as receiver, whole and short, and packed. */
static void check_each_kind(MPI_Datatype basic, int n)
{
    for (int kind = 0; kind < KINDS; kind++) {
        enum kind other = (enum kind) ((kind + 4) % KINDS);
        exchange((enum kind) kind, other, basic, n, ELEMENTS);
        exchange((enum kind) kind, other, basic, n, ELEMENTS - 1);
        exchange((enum kind) kind, other, basic, n, 0);
        exchange_packed((enum kind) kind, other, basic, n);
    }
}

int main(int argc, char **argv)
{
    const MPI_Datatype basics[] = { MPI_BYTE, MPI_INT, MPI_DOUBLE };
    test_begin(argc, argv, (test_options_t) { .bytes = 8 << 20, .seed = 1 });
    for (int i = 0; i < 3; i++) {
        int unit;
        MPI_Type_size(basics[i], &unit);
        check_all_pairs(basics[i], 64);
        for (size_t bytes = 1024; bytes <= test_options.bytes; bytes *= 8)
            check_each_kind(basics[i], (int) (bytes / ELEMENTS / (size_t) unit));
    }
    return test_end();
}
