/* SPDX-License-Identifier: MIT */
/*
 * partitioned.c: partitioned sends and receives round the ring. Partitions are made ready in
 * random order, one by one, by range and by list; the receiver may have other partitions than the
 * sender; Parrived is asked for each. Requests are started several times.
 */
#include <stdlib.h>

#include "support.h"

enum { TAG = 3, STARTS = 3 };

typedef struct {
    int send_partitions, receive_partitions;
    size_t bytes; /* of the whole message; a multiple of both numbers */
} shape_t;

static uint64_t key_of(int source, int dest, int start)
{
    return pattern_key(test_options.seed, source, dest, TAG, (uint64_t) start);
}

/* Makes all partitions ready, by one of three calls. */
static void make_ready(int start, int partitions, MPI_Request request)
{
    random_t random = { pattern_key(test_options.seed, test_rank, start, 0, 0) };
    int *order = malloc((size_t) partitions * sizeof(*order));
    random_order(&random, order, partitions);
    if (start % 3 == 0) {
        for (int i = 0; i < partitions; i++)
            MPI_Pready(order[i], request);
    } else if (start % 3 == 1) {
        MPI_Pready_list(partitions, order, request);
    } else {
        MPI_Pready_range(partitions / 2, partitions - 1, request);
        if (partitions / 2 > 0)
            MPI_Pready_range(0, partitions / 2 - 1, request);
    }
    free(order);
}

static void await_partitions(int partitions, MPI_Request request)
{
    for (int i = partitions - 1; i >= 0; i--) {
        int arrived = 0;
        while (!arrived)
            MPI_Parrived(request, i, &arrived);
    }
}

static void check_shape(const shape_t *shape)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    int send_count = (int) shape->bytes / shape->send_partitions;
    int receive_count = (int) shape->bytes / shape->receive_partitions;
    unsigned char *out = guarded_alloc(shape->bytes), *in = guarded_alloc(shape->bytes);
    MPI_Request requests[2];
    MPI_Psend_init(out, shape->send_partitions, send_count, MPI_BYTE, right, TAG, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, shape->receive_partitions, receive_count, MPI_BYTE, left, TAG,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int start = 0; start < STARTS; start++) {
        pattern_fill(out, shape->bytes, key_of(test_rank, right, start));
        MPI_Startall(2, requests);
        make_ready(start, shape->send_partitions, requests[0]);
        await_partitions(shape->receive_partitions, requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT_PATTERN("partitioned", in, shape->bytes, key_of(left, test_rank, start));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    guarded_free(out);
    guarded_free(in);
}

int main(int argc, char **argv)
{
    const shape_t shapes[] = { { 1, 1, 8 },        { 4, 4, 64 },          { 8, 8, 4096 },
                               { 6, 2, 7200 },     { 3, 9, 72000 },       { 16, 16, 1 << 20 },
                               { 64, 64, 64 * 7 }, { 10, 10, 10 * 8168 },
                               { 3, 5, 15 << 19 },  { 12, 4, 12 << 20 } };
    test_begin(argc, argv, (test_options_t) { .bytes = 1 << 20, .seed = 1 });
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (shapes[i].bytes <= test_options.bytes)
            check_shape(&shapes[i]);
    }
    return test_end();
}
