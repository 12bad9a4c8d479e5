/* SPDX-License-Identifier: MIT */
/*
 * revoked_between.c: a communicator is revoked while its members duplicate it, between two moments: some have agreed on
 * the context of the new one already, and rank 0 has not. Rank 2 keeps its message to rank 0 back meanwhile, in a
 * function that MPI calls in place of the library's send. MPI_Comm_dup has to return in all: with MPIX_ERR_REVOKED in
 * rank 0, and in the others, too, which wait for rank 0 in the new one. Four ranks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "instead_of_send.h"
#include "support.h"

enum { REVOKE_AFTER_US = 200000, SEND_AFTER_US = 600000 };

static int left_until_late; /* so many messages are left, and the last of them is late */

static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p)
{
    if (left_until_late > 0 && is_eager(iov) && --left_until_late == 0)
        usleep(SEND_AFTER_US);
    return library(channel, iov, iov_count, flags, bytes_sent_p);
}

static void *revoke_later(void *comm)
{
    usleep(REVOKE_AFTER_US);
    MPIX_Comm_revoke(*(MPI_Comm *) comm);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Comm parent, made = MPI_COMM_NULL;
    setenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling", 1);
    test_begin_threads(argc, argv, (test_options_t) { 0 }, MPI_THREAD_MULTIPLE);
    if (test_size != 4)
        FAIL("%d ranks: allowed are 4", test_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 1 && pthread_create(&thread, NULL, revoke_later, &parent) != 0)
        FAIL("there is no thread");
    /* Rank 2 with rank 3, and then with rank 0. */
    left_until_late = test_rank == 2 ? 2 : 0;
    const int error = MPI_Comm_dup(parent, &made);
    if (test_rank == 1)
        pthread_join(thread, NULL);
    if (test_rank == 0)
        test_expect_class("class of the error", MPIX_ERR_REVOKED, error);
    if (error == MPI_SUCCESS)
        MPI_Comm_free(&made);
    if (test_rank == 2)
        EXPECT_EQUAL("messages until the late one", 0, left_until_late);
    MPI_Comm_free(&parent);
    return test_end();
}
