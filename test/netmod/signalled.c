/* SPDX-License-Identifier: MIT */
/*
 * signalled.c: SIGUSR1 comes again and again while MPI begins, as the process manager sends it to all when a process of
 * any of its jobs has ended. MPI_Init has to wait for the others of the node all the same, and messages to be right.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "support.h"

enum { EVERY_US = 100 };
static atomic_bool has_begun;

static void nothing(int number)
{
    (void) number;
}

static void *signal_again(void *unused)
{
    while (!atomic_load(&has_begun)) {
        kill(getpid(), SIGUSR1);
        usleep(EVERY_US);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int sum = 0;
    signal(SIGUSR1, nothing);
    if (pthread_create(&thread, NULL, signal_again, NULL) != 0)
        return 1;
    test_begin(argc, argv, (test_options_t) { 0 });
    atomic_store(&has_begun, true);
    pthread_join(thread, NULL);
    MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQUAL("sum of the ranks", test_size * (test_size - 1) / 2, sum);
    return test_end();
}
