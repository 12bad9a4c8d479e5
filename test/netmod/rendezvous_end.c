/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_end.c: MPI_Finalize right after large sends. The even ranks send to all odd ones, free the requests and
 * end; the odd ranks sleep for a while, then receive and check. Rank 0 prints before it ends: a rank that finds
 * something wrong aborts the job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support.h"

enum { TAG = 61, MESSAGES = 6, LOOK_AWAY_NS = 200000000 };

static const size_t sizes[MESSAGES] = { 3, 65536, 100001, 1 << 20, 5 << 20, 17 };

static uint64_t key_of(int source, int dest, int i)
{
    return pattern_key(test_options.seed, source, dest, TAG, (uint64_t) i);
}

/* What is sent stays allocated: it is needed until MPI_Finalize returns. */
static unsigned char **send_all(int dest)
{
    unsigned char **data = malloc(MESSAGES * sizeof(*data));
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        data[i] = pattern_alloc(sizes[i], key_of(test_rank, dest, i));
        if (i % 2)
            MPI_Issend(data[i], (int) sizes[i], MPI_BYTE, dest, TAG + i, MPI_COMM_WORLD, &request);
        else
            MPI_Isend(data[i], (int) sizes[i], MPI_BYTE, dest, TAG + i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    return data;
}

static void receive_all(int source)
{
    for (int i = MESSAGES - 1; i >= 0; i--) {
        MPI_Status status;
        unsigned char *data = guarded_alloc(sizes[i]);
        MPI_Recv(data, (int) sizes[i], MPI_BYTE, source, TAG + i, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, source, TAG + i, sizes[i]);
        EXPECT_PATTERN("received from who ends", data, sizes[i], key_of(source, test_rank, i));
        guarded_free(data);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    unsigned char ***sent = calloc((size_t) test_size, sizeof(*sent));
    const int sends = test_rank % 2 == 0;
    if (!sends)
        nanosleep(&(struct timespec) { .tv_nsec = LOOK_AWAY_NS }, NULL);
    for (int peer = !sends ? 0 : 1; peer < test_size; peer += 2) {
        if (sends)
            sent[peer] = send_all(peer);
        else
            receive_all(peer);
    }
    if (test_rank == 0) {
        printf(" No Errors\n");
        fflush(stdout);
    }
    MPI_Finalize();
    for (int peer = 1; sends && peer < test_size; peer += 2) {
        for (int i = 0; i < MESSAGES; i++)
            guarded_free(sent[peer][i]);
        free(sent[peer]);
    }
    free(sent);
    return 0;
}
