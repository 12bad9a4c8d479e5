/* SPDX-License-Identifier: MIT */
/*
 * memory.c: private memory of an MPI process, read from /proc/self/smaps_rollup: before MPI_Init,
 * right after it, and after one exchange of 8 bytes with every other rank, which the argument `init`
 * leaves out. Rank 0 prints the largest and the median over the ranks as lines `bench,ranks,value,unit`.
 *
 * Counted are Private_Dirty and Private_Hugetlb (huge pages are not in Private_Dirty): what each
 * process costs the machine. Pages of libraries that processes share, and the kernel's socket
 * buffers, are not in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "all_peers.h"

enum { MOMENT_BEFORE, MOMENT_INIT, MOMENT_TOUCH, MOMENTS };

static const char *const moment_names[MOMENTS] = { "before_init", "after_init", "after_touch" };

static long private_kib(void)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long dirty = -1, huge = 0;

    if (rollup != NULL) {
        while (fgets(line, sizeof(line), rollup) != NULL) {
            (void) sscanf(line, "Private_Dirty: %ld", &dirty);
            (void) sscanf(line, "Private_Hugetlb: %ld", &huge);
        }
        fclose(rollup);
    }
    if (dirty < 0) {
        fprintf(stderr, "/proc/self/smaps_rollup: no Private_Dirty line (Linux 4.14 or newer)\n");
        exit(1);
    }
    return dirty + huge;
}

/* Point to point and yielding, for the same reason as above. All is measured by now. */
static void gather(const long mine[MOMENTS], int rank, int ranks, long (*all)[MOMENTS])
{
    MPI_Request request;

    if (rank != 0) {
        MPI_Isend(mine, MOMENTS, MPI_LONG, 0, 1, MPI_COMM_WORLD, &request);
        wait_yielding(&request, 1);
        return;
    }
    for (int moment = 0; moment < MOMENTS; moment++)
        all[0][moment] = mine[moment];
    for (int peer = 1; peer < ranks; peer++) {
        MPI_Irecv(all[peer], MOMENTS, MPI_LONG, peer, 1, MPI_COMM_WORLD, &request);
        wait_yielding(&request, 1);
    }
}

static void print(int ranks, long (*all)[MOMENTS], long *column, int moments)
{
    for (int moment = 0; moment < moments; moment++) {
        for (int rank = 0; rank < ranks; rank++)
            column[rank] = all[rank][moment];
        qsort(column, (size_t) ranks, sizeof(long), compare_longs);
        long median = (column[(ranks - 1) / 2] + column[ranks / 2]) / 2;
        printf("private_%s_median,%d,%ld,KiB\n", moment_names[moment], ranks, median);
        printf("private_%s_max,%d,%ld,KiB\n", moment_names[moment], ranks, column[ranks - 1]);
    }
}

int main(int argc, char **argv)
{
    const int moments = argc > 1 && strcmp(argv[1], "init") == 0 ? MOMENT_TOUCH : MOMENTS;
    long mine[MOMENTS];
    int rank, ranks;

    mine[MOMENT_BEFORE] = private_kib();
    MPI_Init(&argc, &argv);
    mine[MOMENT_INIT] = private_kib();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (moments == MOMENTS)
        touch_every_peer(rank, ranks);
    mine[MOMENT_TOUCH] = private_kib();

    long (*all)[MOMENTS] = calloc((size_t) ranks, sizeof(*all));
    long *column = calloc((size_t) ranks, sizeof(*column));
    if (all == NULL || column == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    gather(mine, rank, ranks, all);
    if (rank == 0)
        print(ranks, all, column, moments);
    free(column);
    free(all);
    MPI_Finalize();
    return 0;
}
