/* SPDX-License-Identifier: MIT */
/* Each rank sends a message to each other one; rank 0 prints how many agree, the device, and the program that started
 * the rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kInts = 1000 };

static int exchange(int rank, int ranks)
{
    int sent[kInts], got[kInts], right = 1;
    for (int step = 1; step < ranks; step++) {
        int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
        for (int i = 0; i < kInts; i++)
            sent[i] = rank * kInts + i;
        memset(got, 0, sizeof got);
        MPI_Sendrecv(sent, kInts, MPI_INT, to, step, got, kInts, MPI_INT, from, step, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < kInts; i++)
            right &= got[i] == from * kInts + i;
    }
    return right;
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING], link_name[64], proxy[256];
    int rank, ranks, right, all, length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = exchange(rank, ranks);
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Get_library_version(version, &length);
        snprintf(link_name, sizeof link_name, "/proc/%d/exe", (int) getppid());
        ssize_t size = readlink(link_name, proxy, sizeof proxy - 1);
        proxy[size > 0 ? size : 0] = 0;
        printf("%s\n%d ranks agree, proxy %s\n", version, all, proxy);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
