/* SPDX-License-Identifier: MIT */
/*
 * revoked.c: a communicator is revoked while two of its processes, which both live, are in the middle of a message. The
 * one that has sent, or received, gets the error; what the other one answers later must end nothing else. With rounds=
 * each of these, so often:
 *
 *   a synchronous message, whose receiver makes no progress until it was revoked
 *   a large one with gaps, whose receiver makes none
 *   a large one with gaps, whose sender makes none once it has sent: its data comes to a receive that was ended
 *   a large one without gaps, that nobody receives until then: the sender gets its data back, unread
 *
 * Rank 0 sends to rank 1, the last rank revokes. Checked: the errors, that a receive of a message that nobody sends
 * waits, that a buffer is not written after its receive has ended, and that messages in MPI_COMM_WORLD go on.
 */
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { TAG = 1, NEVER, BLOCKS = 5000, DOUBLES = 16 * BLOCKS, REVOKED_US = 200000, PAUSE_US = 500000 };
enum kind { SYNCHRONOUS, SENDER_WAITS, RECEIVER_WAITS, NOBODY_RECEIVES, KINDS };

static double gaps[DOUBLES];
static MPI_Datatype gapped;

static void expect_revoked(int error)
{
    test_expect_class("class of the error", MPIX_ERR_REVOKED, error);
}

/* For as long as the other one may answer. */
static void expect_nothing(int from)
{
    const double end = MPI_Wtime() + 2 * PAUSE_US / 1e6;
    int word = 0, done = 0, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&word, 1, MPI_INT, from, NEVER, MPI_COMM_WORLD, &request);
    while (!done && MPI_Wtime() < end)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("a receive of what nobody sends is complete", 0, done);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_EQUAL("cancelled", 1, cancelled);
}

static void send(MPI_Comm comm, enum kind kind)
{
    MPI_Request request;
    if (kind == SYNCHRONOUS)
        MPI_Issend(&test_rank, 1, MPI_INT, 1, TAG, comm, &request);
    else if (kind == NOBODY_RECEIVES)
        MPI_Isend(gaps, DOUBLES, MPI_DOUBLE, 1, TAG, comm, &request);
    else
        MPI_Isend(gaps, 1, gapped, 1, TAG, comm, &request);
    if (kind == RECEIVER_WAITS)
        usleep(PAUSE_US);
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (kind == SYNCHRONOUS || kind == SENDER_WAITS)
        expect_revoked(error);
    memset(gaps, 0xaa, sizeof(gaps));
    expect_nothing(1);
}

static void receive(MPI_Comm comm, enum kind kind)
{
    int word = 0, there = 0;
    if (kind == RECEIVER_WAITS) {
        memset(gaps, 0, sizeof(gaps));
        expect_revoked(MPI_Recv(gaps, 1, gapped, 0, TAG, comm, MPI_STATUS_IGNORE));
        memset(gaps, 0x55, sizeof(gaps));
        expect_nothing(0);
        for (size_t i = 0; i < sizeof(gaps); i++)
            EXPECT_EQUAL("byte of a buffer whose receive has ended", 0x55, ((unsigned char *) gaps)[i]);
        return;
    }
    while (!there)
        MPI_Iprobe(0, TAG, comm, &there, MPI_STATUS_IGNORE);
    if (kind == NOBODY_RECEIVES) {
        expect_nothing(0);
        expect_revoked(MPI_Recv(gaps, DOUBLES, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE));
        return;
    }
    usleep(PAUSE_US);
    if (kind == SYNCHRONOUS)
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
    else
        MPI_Recv(gaps, 1, gapped, 0, TAG, comm, MPI_STATUS_IGNORE);
    expect_nothing(0);
}

static void act(enum kind kind)
{
    int sum = 0, one = 1;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, gaps, 1, MPI_INT, comm); /* all are connected */
    MPI_Barrier(comm);
    if (test_rank == 0)
        send(comm, kind);
    else if (test_rank == 1)
        receive(comm, kind);
    else if (test_rank == test_size - 1) {
        usleep(REVOKED_US);
        MPIX_Comm_revoke(comm);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQUAL("sum", test_size, sum);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 2 });
    if (test_size < 3)
        FAIL("%d ranks: allowed are 3 or more", test_size);
    MPI_Type_vector(BLOCKS, 8, 16, MPI_DOUBLE, &gapped);
    MPI_Type_commit(&gapped);
    for (long round = 0; round < test_options.rounds; round++) {
        for (int kind = 0; kind < KINDS; kind++)
            act((enum kind) kind);
    }
    MPI_Type_free(&gapped);
    return test_end();
}
