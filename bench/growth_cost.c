/* SPDX-License-Identifier: MIT */
/*
 * growth_cost.c: what it costs that channels grow, or do not, on connections that are new. See usage().
 * Output of rank 0: lines `question,size,value,us`. Data is checked once in each mode.
 */
#include <mpi.h>

#include "bench_common.h"

enum { WINDOW = 64, SPARSE = 25, SPARSE_US = 20000, STEADY_BATCHES = 21 };

static int rank, ranks;
static unsigned char *out, *in;

static void usage(void)
{
    fprintf(stderr,
            "usage: growth_cost alltoall BYTES ROUNDS   all ranks: the first call, the first five, all of them\n"
            "       growth_cost stream BYTES COUNT     2 ranks: from the first message until so many are there\n"
            "       growth_cost latency SIZES SECONDS  2 ranks: the first ten, one in 20 ms, and steady\n");
    exit(2);
}

static double slowest(double seconds)
{
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* Every rank has a connection to every other, of the first phase. */
static void touch_all(void)
{
    for (int step = 1; step < ranks; step++)
        MPI_Sendrecv(out, 8, MPI_BYTE, (rank + step) % ranks, 0, in, 8, MPI_BYTE, (rank - step + ranks) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure_alltoall(size_t bytes, long rounds)
{
    for (int peer = 0; peer < ranks; peer++)
        bench_fill(out + (size_t) peer * bytes, bytes);
    touch_all();
    const double begin = bench_now();
    for (long round = 1; round <= rounds; round++) {
        MPI_Alltoall(out, (int) bytes, MPI_BYTE, in, (int) bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (round != 1 && round != 5 && round != rounds)
            continue;
        const double most = slowest(bench_now() - begin);
        if (rank == 0)
            bench_print("alltoall_time", (size_t) round, most * 1e6, "us");
    }
    for (int peer = 0; peer < ranks; peer++)
        bench_verify(in + (size_t) peer * bytes, bytes, "alltoall");
}

/* The receiver looks at the clock when so many messages have arrived: 1, 4, 16, ... and all. */
static void measure_stream(size_t bytes, long count)
{
    MPI_Request requests[WINDOW];
    bench_fill(out, bytes);
    touch_all();
    if (rank == 0) {
        MPI_Send(out, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        const double begin = bench_now();
        long next = 1;
        for (long n = 1; n <= count; n++) {
            MPI_Recv(in, (int) bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (n != next && n != count)
                continue;
            bench_print("stream_time", (size_t) n, (bench_now() - begin) * 1e6, "us");
            next *= 4;
        }
        bench_verify(in, bytes, "stream");
    } else if (rank == 1) {
        MPI_Recv(in, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (long done = 0; done < count;) {
            const int window = (int) (count - done < WINDOW ? count - done : WINDOW);
            for (int i = 0; i < window; i++)
                MPI_Isend(out, (int) bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            done += window;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Seconds of `count` round trips. */
static double round_trips(size_t bytes, long count)
{
    const int first = rank == 0;
    const double begin = bench_now();
    for (long i = 0; i < count; i++) {
        if (first)
            MPI_Send(out, (int) bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, (int) bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first)
            MPI_Send(out, (int) bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return bench_now() - begin;
}

/* The median, in microseconds, of half round trips. */
static double median_half(double *seconds, int count)
{
    qsort(seconds, (size_t) count, sizeof(*seconds), bench_ascending);
    return seconds[count / 2] / 2 * 1e6;
}

/* Both wait without MPI, so that neither looks at the fabric. */
static double sparse(size_t bytes)
{
    double seconds[SPARSE];
    for (int i = 0; i < SPARSE; i++) {
        for (const double end = bench_now() + SPARSE_US * 1e-6; bench_now() < end;);
        seconds[i] = round_trips(bytes, 1);
    }
    return median_half(seconds, SPARSE);
}

static double steady(size_t bytes, double budget)
{
    double batches[STEADY_BATCHES];
    long count = (long) (budget / STEADY_BATCHES / (round_trips(bytes, 200) / 200));
    count = count < 4 ? 4 : count;
    MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < STEADY_BATCHES; i++)
        batches[i] = round_trips(bytes, count) / (double) count;
    return median_half(batches, STEADY_BATCHES);
}

static void measure_latency(const bench_sizes_t * sizes, double budget)
{
    for (int i = 0; i < sizes->count; i++) {
        const size_t bytes = sizes->bytes[i];
        bench_fill(out, bytes);
        touch_all();
        const double first = round_trips(bytes, 10) / 20 * 1e6;
        const double seldom = sparse(bytes), often = steady(bytes, budget);
        bench_verify(in, bytes, "latency");
        if (rank != 0)
            continue;
        /* Later sizes find what the ones before have made grow. */
        if (i == 0)
            bench_print("latency_first", bytes, first, "us");
        bench_print("latency_sparse", bytes, seldom, "us");
        bench_print("latency_steady", bytes, often, "us");
    }
}

int main(int argc, char **argv)
{
    bench_sizes_t sizes;
    if (argc != 4)
        usage();
    bench_parse_sizes(argv[2], &sizes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = bench_buffer(bench_largest(&sizes) * (size_t) ranks + 8);
    in = bench_buffer(bench_largest(&sizes) * (size_t) ranks + 8);
    const long count = atol(argv[3]);
    if (strcmp(argv[1], "alltoall") == 0 && count > 0)
        measure_alltoall(sizes.bytes[0], count);
    else if (strcmp(argv[1], "stream") == 0 && count > 0 && ranks == 2)
        measure_stream(sizes.bytes[0], count);
    else if (strcmp(argv[1], "latency") == 0 && ranks == 2)
        measure_latency(&sizes, bench_parse_seconds(argv[3]));
    else
        usage();
    MPI_Finalize();
    return 0;
}
