/* SPDX-License-Identifier: MIT */
/*
 * revoked_between.c: a communicator is revoked while a call of all members makes something in it, between two moments:
 * three of them have agreed on the context of the new communicator already, and one has not, since another one keeps
 * its message to it back until it sends again, in a function that MPI calls in place of the library's send. The call
 * has to return in all: with MPIX_ERR_REVOKED in that one, and in the others, which wait for it. Four ranks.
 *
 *   rounds=0   MPI_Comm_dup: rank 0 has not, from which the others await a broadcast
 *   rounds=1   MPI_Win_create: rank 3 has not, for which the others wait in the one that is revoked
 *
 * With rounds=2 MPIX_Comm_shrink makes one in a communicator that is revoked before, and rank 0 sends slowly: the new
 * one has to be right.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "instead_of_send.h"
#include "support.h"

enum { REVOKE_AFTER_US = 200000, SEND_AFTER_US = 600000, SLOW_US = 60000, KEPT_MAX = 4096 };

static int left_until_late; /* so many messages are left, and the last of them is late */
static int is_slow;
static struct {
    bufenlarge_channel_t *channel; /* NULL: there is none, or it is sent */
    unsigned flags;
    size_t bytes;
    unsigned char data[KEPT_MAX];
} kept;

static bufenlarge_status_t keep(bufenlarge_channel_t *channel, const struct iovec *iov, int iov_count, unsigned flags,
                                size_t *bytes_sent_p)
{
    for (int i = 0; i < iov_count; i++) {
        if (kept.bytes + iov[i].iov_len > KEPT_MAX)
            FAIL("a message of more than %d bytes", KEPT_MAX);
        memcpy(kept.data + kept.bytes, iov[i].iov_base, iov[i].iov_len);
        kept.bytes += iov[i].iov_len;
    }
    kept.channel = channel;
    kept.flags = flags;
    *bytes_sent_p = kept.bytes;
    return BUFENLARGE_OK;
}

static void send_kept(send_function_t library)
{
    const struct iovec all = { .iov_base = kept.data, .iov_len = kept.bytes };
    size_t sent = 0;
    usleep(SEND_AFTER_US);
    EXPECT_EQUAL("status of the late message", BUFENLARGE_OK, library(kept.channel, &all, 1, kept.flags, &sent));
    EXPECT_EQUAL("bytes of the late message", kept.bytes, sent);
    kept.channel = NULL;
}

static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p)
{
    if (is_slow && is_eager(iov))
        usleep(SLOW_US);
    if (kept.channel != NULL)
        send_kept(library);
    if (left_until_late > 0 && is_eager(iov) && --left_until_late == 0)
        return keep(channel, iov, iov_count, flags, bytes_sent_p);
    return library(channel, iov, iov_count, flags, bytes_sent_p);
}

static void *revoke_later(void *comm)
{
    usleep(REVOKE_AFTER_US);
    MPIX_Comm_revoke(*(MPI_Comm *) comm);
    return NULL;
}

static const struct scene {
    int late, late_to, revoker; /* ranks; the message from the first to the second is late */
} scenes[] = { { .late = 2, .late_to = 0, .revoker = 1 }, { .late = 1, .late_to = 3, .revoker = 0 } };

static int make(MPI_Comm parent)
{
    static int word;
    MPI_Comm made;
    MPI_Win window;
    const int error = test_options.rounds == 0 ? MPI_Comm_dup(parent, &made)
        : MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, parent, &window);
    if (error == MPI_SUCCESS && test_options.rounds == 0)
        MPI_Comm_free(&made);
    return error;
}

static void make_and_revoke(MPI_Comm parent)
{
    pthread_t thread;
    const struct scene scene = scenes[test_options.rounds];
    if (test_rank == scene.revoker && pthread_create(&thread, NULL, revoke_later, &parent) != 0)
        FAIL("there is no thread");
    /* Each agrees with the rank beside it, and then with the one across: the second message is the late one. */
    left_until_late = test_rank == scene.late ? 2 : 0;
    const int error = make(parent);
    if (test_rank == scene.revoker)
        pthread_join(thread, NULL);
    if (test_rank == scene.late_to || test_options.rounds == 1)
        test_expect_class("class of the error", MPIX_ERR_REVOKED, error);
    if (test_rank == scene.late)
        EXPECT_EQUAL("messages until the late one", 0, left_until_late);
}

static void revoke_and_shrink(MPI_Comm parent)
{
    MPI_Comm survivors;
    if (test_rank == 1)
        MPIX_Comm_revoke(parent);
    else
        test_expect_class("class of the error", MPIX_ERR_REVOKED, MPI_Barrier(parent));
    is_slow = test_rank == 0;
    test_expect_class("shrink", MPI_SUCCESS, MPIX_Comm_shrink(parent, &survivors));
    is_slow = 0;
    MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
    test_expect_class("barrier of the survivors", MPI_SUCCESS, MPI_Barrier(survivors));
    MPI_Comm_free(&survivors);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    setenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling", 1);
    test_begin_threads(argc, argv, (test_options_t) { 0 }, MPI_THREAD_MULTIPLE);
    if (test_size != 4)
        FAIL("%d ranks: allowed are 4", test_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_options.rounds == 2)
        revoke_and_shrink(parent);
    else
        make_and_revoke(parent);
    MPI_Comm_free(&parent);
    return test_end();
}
