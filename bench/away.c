/* SPDX-License-Identifier: MIT */
/*
 * away.c: how long a Put and its flush take while the target is outside of MPI. mpiexec -n 2: rank 1 sleeps for a
 * second. On a fabric whose target has to make progress, a flush that is over before that has not waited for the data.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { LARGEST = 65536, SLEEP_US = 1000000, HEAD_START_US = 200000 };

static char memory[LARGEST], data[LARGEST];

static void put(int bytes, MPI_Win win)
{
    MPI_Put(data, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(1, win);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 8, 1024, LARGEST };
    int rank;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            put(sizes[i], win); /* so that all is connected */
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            usleep(SLEEP_US);
        } else {
            usleep(HEAD_START_US);
            const double start = MPI_Wtime();
            put(sizes[i], win);
            printf("away,%d,%.6f,s\n", sizes[i], MPI_Wtime() - start);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
