/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: how long a collective operation takes, on any number of ranks. For each size it does an allreduce of
 * doubles, an alltoall of so many bytes for each pair, and a broadcast whose root is another rank each time (so that
 * the root does not run ahead). Each has a warm-up, in which the data is checked, and BATCHES batches; the time of a
 * batch is the slowest rank's.
 *
 * usage: collectives SIZES SECONDS, where the seconds are for one operation and size.
 * Output of rank 0: lines `operation,bytes,value,us` with the median of the batches, and `operation_lowest,...`.
 */
#include <mpi.h>

#include "bench_common.h"

enum { BATCHES = 11, CHECKED = 20 };

typedef struct {
    int rank, ranks;
    unsigned char *send, *receive;
} job_t;

typedef void (*operation_fn) (const job_t * job, size_t size, long number);

static void allreduce(const job_t * job, size_t size, long number)
{
    (void) number;
    MPI_Allreduce(job->send, job->receive, (int) (size / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(const job_t * job, size_t size, long number)
{
    (void) number;
    MPI_Alltoall(job->send, (int) size, MPI_BYTE, job->receive, (int) size, MPI_BYTE, MPI_COMM_WORLD);
}

static void bcast(const job_t * job, size_t size, long number)
{
    MPI_Bcast(job->receive, (int) size, MPI_BYTE, (int) (number % job->ranks), MPI_COMM_WORLD);
}

static void wrong(const char *what, size_t size)
{
    fprintf(stderr, "%s of %zu bytes: the data is wrong\n", what, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What rank `from` sends to rank `to`. */
static unsigned char word(int from, int to, size_t at)
{
    return (unsigned char) (from * 7 + to * 3 + (int) (at % 251));
}

static void check_allreduce(const job_t * job, size_t size, long number)
{
    double *sent = (double *) job->send, *sum = (double *) job->receive;
    const size_t count = size / sizeof(double);
    for (size_t i = 0; i < count; i++)
        sent[i] = (double) ((size_t) job->rank + i);
    allreduce(job, size, number);
    for (size_t i = 0; i < count; i++)
        if (sum[i] != job->ranks * (double) i + job->ranks * (job->ranks - 1) / 2)
            wrong("allreduce", size);
}

static void check_alltoall(const job_t * job, size_t size, long number)
{
    for (int peer = 0; peer < job->ranks; peer++)
        for (size_t i = 0; i < size; i++)
            job->send[(size_t) peer * size + i] = word(job->rank, peer, i);
    alltoall(job, size, number);
    for (int peer = 0; peer < job->ranks; peer++)
        for (size_t i = 0; i < size; i++)
            if (job->receive[(size_t) peer * size + i] != word(peer, job->rank, i))
                wrong("alltoall", size);
}

static void check_bcast(const job_t * job, size_t size, long number)
{
    const int root = (int) (number % job->ranks);
    for (size_t i = 0; i < size; i++)
        job->receive[i] = root == job->rank ? word(root, 0, i) : 0;
    bcast(job, size, number);
    for (size_t i = 0; i < size; i++)
        if (job->receive[i] != word(root, 0, i))
            wrong("bcast", size);
}

/* Seconds that the slowest rank took. */
static double batch(const job_t * job, operation_fn operation, size_t size, long count)
{
    double spent, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    spent = MPI_Wtime();
    for (long i = 0; i < count; i++)
        operation(job, size, i);
    spent = MPI_Wtime() - spent;
    MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(const job_t * job, const char *name, operation_fn check, operation_fn operation, size_t size,
                    double budget)
{
    double batches[BATCHES], warm;
    char lowest[64];
    long count;

    for (long i = 0; i < CHECKED; i++)
        check(job, size, i);
    warm = batch(job, operation, size, CHECKED);
    count = (long) (budget / BATCHES / (warm / CHECKED));
    count = count < 4 ? 4 : count;
    for (int i = 0; i < BATCHES; i++)
        batches[i] = batch(job, operation, size, count) / (double) count * 1e6;
    qsort(batches, BATCHES, sizeof(*batches), bench_ascending);
    if (job->rank != 0)
        return;
    snprintf(lowest, sizeof(lowest), "%s_lowest", name);
    bench_print(name, size, batches[BATCHES / 2], "us");
    bench_print(lowest, size, batches[0], "us");
}

int main(int argc, char **argv)
{
    bench_sizes_t sizes;
    job_t job;
    double budget;

    if (argc != 3) {
        fprintf(stderr, "usage: collectives SIZES SECONDS\n");
        return 2;
    }
    bench_parse_sizes(argv[1], &sizes);
    budget = bench_parse_seconds(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    job.send = bench_buffer(bench_largest(&sizes) * (size_t) job.ranks + sizeof(double));
    job.receive = bench_buffer(bench_largest(&sizes) * (size_t) job.ranks + sizeof(double));
    for (int i = 0; i < sizes.count; i++) {
        measure(&job, "allreduce", check_allreduce, allreduce, sizes.bytes[i], budget);
        measure(&job, "alltoall", check_alltoall, alltoall, sizes.bytes[i], budget);
        measure(&job, "bcast", check_bcast, bcast, sizes.bytes[i], budget);
    }
    MPI_Finalize();
    return 0;
}
