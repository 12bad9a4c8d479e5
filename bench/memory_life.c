/* SPDX-License-Identifier: MIT */
/*
 * memory_life.c: memory of an MPI process in the phases of a job: before MPI_Init and after it, when it has exchanged
 * 8 bytes with every other rank, after some rounds of MPI_Ialltoall of 600 bytes, after as many of 16 KiB, and when
 * it was idle for 5 s since. Prints lines `question,ranks,value,unit`, by median and largest of the ranks:
 *   private   Private_Dirty and Private_Hugetlb of /proc/self/smaps_rollup
 *   pinned    VmPin of /proc/self/status
 *   machine   what is not available of the whole machine's memory, per rank, beyond what was before MPI_Init: queues,
 *             sockets and what else the kernel keeps is in it, and what other programs do meanwhile
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "all_peers.h"

enum { BEFORE, INIT, TOUCHED, BYTES_600, BYTES_16K, IDLE, MOMENTS };
enum { PRIVATE, PINNED, MACHINE, KINDS };
enum { ROUNDS = 5, IDLE_SECONDS = 5 };

static const char *const moments[MOMENTS] = { "before_init", "init", "touched", "600", "16384", "idle" };
static const char *const kinds[KINDS] = { "private", "pinned", "machine" };

static int rank, ranks;
static long own[MOMENTS][KINDS];

/* The sum of the lines "Name: number kB" of a file that have one of the names. */
static long sum_of(const char *path, const char *const *names)
{
    FILE *file = fopen(path, "r");
    char line[256], name[64];
    long sum = 0, kib;

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%63[^:]: %ld kB", name, &kib) != 2)
            continue;
        for (int i = 0; names[i] != NULL; i++)
            if (strcmp(name, names[i]) == 0)
                sum += kib;
    }
    fclose(file);
    return sum;
}

static void measure(int moment)
{
    own[moment][PRIVATE] = sum_of("/proc/self/smaps_rollup",
                                  (const char *const[]) { "Private_Dirty", "Private_Hugetlb", NULL });
    own[moment][PINNED] = sum_of("/proc/self/status", (const char *const[]) { "VmPin", NULL });
    own[moment][MACHINE] = sum_of("/proc/meminfo", (const char *const[]) { "MemTotal", NULL }) -
                           sum_of("/proc/meminfo", (const char *const[]) { "MemAvailable", NULL });
}

static void progress_for(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
        int there;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        usleep(2000);
    }
}

/* All ranks are at rest when all have come; then each measures itself. */
static void at_rest(int moment)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_yielding(&request, 1);
    progress_for(0.3);
    measure(moment);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_yielding(&request, 1);
}

static void exchange(int rounds, int bytes)
{
    char *out = calloc((size_t) ranks, (size_t) bytes), *in = calloc((size_t) ranks, (size_t) bytes);
    if (out == NULL || in == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request;
        memset(out, round + rank, (size_t) ranks * (size_t) bytes);
        MPI_Ialltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
        wait_yielding(&request, 1);
        for (int peer = 0; peer < ranks; peer++)
            if (in[(size_t) peer * (size_t) bytes] != (char) (round + peer))
                MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(in);
    free(out);
}

static void print(long (*all)[MOMENTS][KINDS], long *column)
{
    for (int moment = 0; moment < MOMENTS; moment++) {
        for (int kind = 0; kind < MACHINE; kind++) {
            for (int i = 0; i < ranks; i++)
                column[i] = all[i][moment][kind];
            qsort(column, (size_t) ranks, sizeof(long), compare_longs);
            printf("%s_%s_median,%d,%ld,KiB\n", kinds[kind], moments[moment], ranks, column[ranks / 2]);
            printf("%s_%s_max,%d,%ld,KiB\n", kinds[kind], moments[moment], ranks, column[ranks - 1]);
        }
        printf("%s_%s,%d,%ld,KiB\n", kinds[MACHINE], moments[moment], ranks,
               (all[0][moment][MACHINE] - all[0][BEFORE][MACHINE]) / ranks);
    }
}

int main(int argc, char **argv)
{
    measure(BEFORE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    measure(INIT);
    touch_every_peer(rank, ranks);
    at_rest(TOUCHED);
    exchange(ROUNDS, 600);
    at_rest(BYTES_600);
    exchange(ROUNDS, 16384);
    at_rest(BYTES_16K);
    progress_for(IDLE_SECONDS);
    at_rest(IDLE);

    long (*all)[MOMENTS][KINDS] = calloc((size_t) ranks, sizeof(*all));
    long *column = calloc((size_t) ranks, sizeof(*column));
    if (all == NULL || column == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(own, MOMENTS * KINDS, MPI_LONG, all, MOMENTS * KINDS, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print(all, column);
    free(column);
    free(all);
    MPI_Finalize();
    return 0;
}
