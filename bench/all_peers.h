/* SPDX-License-Identifier: MIT */
/* all_peers.h: how the programs that measure memory talk to every other rank, and sort what they have measured. */
#ifndef ALL_PEERS_H_INCLUDED
#define ALL_PEERS_H_INCLUDED

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Yields while it waits: there may be many more ranks than cores, and a rank that spins through
 * its time slice would make the exchange last minutes. */
static inline void wait_yielding(MPI_Request * requests, int count)
{
    int done = 0;
    while (!done) {
        MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        if (!done)
            sched_yield();
    }
}

/* Step k pairs each rank with the one k below it in the order of a ring turned backwards: in every
 * step each rank has exactly one partner (maybe itself), and after `ranks` steps it had all. */
static inline void touch_every_peer(int rank, int ranks)
{
    for (int step = 0; step < ranks; step++) {
        int peer = (step - rank + ranks) % ranks;
        long sent = rank, received = -1;
        MPI_Request requests[2];

        if (peer == rank)
            continue;
        MPI_Irecv(&received, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD, &requests[1]);
        wait_yielding(requests, 2);
        if (received != peer) {
            fprintf(stderr, "rank %d: peer %d sent %ld\n", rank, peer, received);
            exit(1);
        }
    }
}

static inline int compare_longs(const void *left, const void *right)
{
    long a = *(const long *) left, b = *(const long *) right;
    return (a > b) - (a < b);
}

#endif
