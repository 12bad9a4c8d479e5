/* SPDX-License-Identifier: MIT */
/*
 * idle_ranks.c: what ranks that are connected and asleep cost two that talk. Every rank from 2 on exchanges 8 bytes
 * with ranks 0 and 1 and then sleeps, outside of MPI, until rank 0 has measured: it opens a pipe (mkfifo) that nobody
 * writes before. Ranks 0 and 1 send 8 bytes to and fro, in BATCHES batches of a time budget.
 *
 * usage: idle_ranks PIPE SECONDS, the latter for all batches together.
 * Output of rank 0: `idle_latency,ranks,value,us`, half round trip, the median of the batches; and idle_latency_lowest.
 */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include "bench_common.h"

enum { BATCHES = 21, BYTES = 8, WARM = 2000 };

static int rank, ranks;
static unsigned char out[BYTES], in[BYTES];

static void exchange(int peer)
{
    MPI_Sendrecv(out, BYTES, MPI_BYTE, peer, 0, in, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds of `count` round trips. */
static double talk(long count)
{
    const double begin = bench_now();
    for (long i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Send(out, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, BYTES, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    return bench_now() - begin;
}

static void measure(double budget)
{
    double batches[BATCHES];
    long count = WARM;

    count = (long) (budget / BATCHES / (talk(count) / (double) count));
    count = count < 10 ? 10 : count;
    if (rank == 0)
        MPI_Send(&count, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(&count, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < BATCHES; i++)
        batches[i] = talk(count) / (double) count / 2 * 1e6;
    qsort(batches, BATCHES, sizeof(*batches), bench_ascending);
    bench_verify(in, BYTES, "8 bytes");
    if (rank == 0) {
        bench_print("idle_latency", (size_t) ranks, batches[BATCHES / 2], "us");
        bench_print("idle_latency_lowest", (size_t) ranks, batches[0], "us");
    }
}

int main(int argc, char **argv)
{
    double budget;
    int end;

    if (argc != 3) {
        fprintf(stderr, "usage: idle_ranks PIPE SECONDS\n");
        return 2;
    }
    budget = bench_parse_seconds(argv[2]);
    bench_fill(out, BYTES);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank >= 2) {
        exchange(0);
        exchange(1);
        end = open(argv[1], O_RDONLY);
    } else {
        for (int peer = 2; peer < ranks; peer++)
            exchange(peer);
        usleep(500000);         /* the last of them falls asleep */
        measure(budget);
        end = rank == 0 && ranks > 2 ? open(argv[1], O_WRONLY) : 0;
    }
    if (end < 0)
        fprintf(stderr, "idle_ranks: %s cannot be opened\n", argv[1]);
    MPI_Finalize();
    return end < 0;
}
