/* SPDX-License-Identifier: MIT */
/* init.c: prints how many milliseconds the slowest rank spent in MPI_Init, and the processor time of a rank in it, on
 * average. */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

/* Of this process, in the system's name too. */
static double processor_ms(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
        (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-3;
}

int main(int argc, char **argv)
{
    const double begin = now_ms(), processor_begin = processor_ms();
    double own, processor, most, processor_sum;
    int rank, size;
    MPI_Init(&argc, &argv);
    own = now_ms() - begin;
    processor = processor_ms() - processor_begin;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&processor, &processor_sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f %.3f\n", most, processor_sum / size);
    MPI_Finalize();
    return 0;
}
