/* SPDX-License-Identifier: MIT */
/*
 * burst.c BYTES ROUNDS SECONDS: every rank exchanges 8 bytes with every other, then ROUNDS times BYTES, and then,
 * SECONDS times a thousand, 8 bytes with its two neighbours, a millisecond apart. Rank 0 prints when each of these
 * ended, as lines `phase,microseconds since 1970`.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank, ranks;

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "burst: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* With the rank `step` behind and the one `step` ahead. */
static void exchange(int step, const char *out, char *in, int bytes)
{
    MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + step) % ranks, 0, in, bytes, MPI_BYTE, (rank - step + ranks) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end_of(const char *phase)
{
    struct timespec now;
    MPI_Barrier(MPI_COMM_WORLD);
    clock_gettime(CLOCK_REALTIME, &now);
    if (rank == 0)
        printf("%s,%lld\n", phase, (long long) now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 1000000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int bytes = argc > 3 ? atoi(argv[1]) : 0;
    const int rounds = argc > 3 ? atoi(argv[2]) : 0;
    const double seconds = argc > 3 ? atof(argv[3]) : 0;
    if (bytes < 8 || rounds < 1) {
        fprintf(stderr, "usage: burst BYTES ROUNDS SECONDS; at least 8 bytes and a round\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *out = allocate((size_t) bytes), *in = allocate((size_t) bytes);
    for (int step = 1; step < ranks; step++)
        exchange(step, out, in, 8);
    end_of("touched");
    for (int round = 0; round < rounds; round++)
        for (int step = 1; step < ranks; step++)
            exchange(step, out, in, bytes);
    end_of("burst");
    for (long left = (long) (seconds * 1000); left > 0; left--) {
        exchange(1, out, in, 8);
        nanosleep(&pause, NULL);
    }
    end_of("small");
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
