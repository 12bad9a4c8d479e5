/* SPDX-License-Identifier: MIT */
/*
 * revoked.c: a communicator is revoked while two of its processes, which both live, are in the middle of a message. The
 * one that has sent, or received, gets the error; what the other one answers later must end nothing else. With rounds=
 * each of these, so often:
 *
 *   a synchronous message, whose receiver makes no progress until it was revoked
 *   one that nobody receives, and is never answered: the communicator is disconnected all the same
 *   a large one with gaps, whose receiver makes none
 *   a large one with gaps, whose sender makes none once it has sent: its data comes to a receive that was ended
 *   a large one without gaps, that nobody receives until then: the sender gets its data back, unread
 *
 * Rank 0 sends to rank 1, the last rank revokes. Checked: the errors, that a receive of a message that nobody sends
 * waits, that a buffer is not written after its receive has ended, and that messages in MPI_COMM_WORLD go on. Who makes
 * no progress waits for a step of the others, which is a number in memory that all share: the ranks are on one machine.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { TAG = 1, BEHIND, NEVER, BLOCKS = 5000, DOUBLES = 16 * BLOCKS, LIMIT = 20 };
enum step { UNDER_WAY = 1, ENDED, STEPS };
enum kind { SYNCHRONOUS, UNANSWERED, SENDER_WAITS, RECEIVER_WAITS, NOBODY_RECEIVES, KINDS };

static double gaps[DOUBLES];
static MPI_Datatype gapped;

static atomic_int *now;
static int acts;

/* Collective. */
static void share_steps(void)
{
    char name[] = "/tmp/bufenlarge-revoked.XXXXXX";
    const int file = test_rank == 0 ? mkstemp(name) : -1;
    if (test_rank == 0 && (file < 0 || ftruncate(file, sizeof(*now)) != 0))
        FAIL("no file %s", name);
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    const int own = test_rank == 0 ? file : open(name, O_RDWR);
    now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    if (now == MAP_FAILED)
        FAIL("%s cannot be mapped", name);
    close(own);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        unlink(name);
}

static void reach(enum step step)
{
    atomic_store(now, STEPS * acts + (int) step);
}

/* Without MPI. */
static void wait_for(enum step step)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    while (atomic_load(now) < STEPS * acts + (int) step)
        nanosleep(&pause, NULL);
}

static void expect_revoked(int error)
{
    test_expect_class("class of the error", MPIX_ERR_REVOKED, error);
}

/* For as long as the other one may answer. */
static void expect_nothing(int from)
{
    const double end = MPI_Wtime() + 1.0;
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
    MPI_Request request, behind = MPI_REQUEST_NULL;
    if (kind == SYNCHRONOUS || kind == UNANSWERED)
        MPI_Issend(&test_rank, 1, MPI_INT, 1, TAG, comm, &request);
    else if (kind == NOBODY_RECEIVES)
        MPI_Isend(gaps, DOUBLES, MPI_DOUBLE, 1, TAG, comm, &request);
    else
        MPI_Isend(gaps, 1, gapped, 1, TAG, comm, &request);
    if (kind == RECEIVER_WAITS) {
        MPI_Isend(NULL, 0, MPI_INT, 1, BEHIND, comm, &behind);
        wait_for(ENDED);
    }
    const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&behind, MPI_STATUS_IGNORE);
    if (kind == SYNCHRONOUS || kind == UNANSWERED || kind == SENDER_WAITS) {
        expect_revoked(error);
        reach(ENDED);
    }
    memset(gaps, 0xaa, sizeof(gaps));
    expect_nothing(1);
}

/* When the message behind it has come, the large one has been answered. */
static void receive_until_revoked(MPI_Comm comm)
{
    MPI_Request request;
    memset(gaps, 0, sizeof(gaps));
    MPI_Irecv(gaps, 1, gapped, 0, TAG, comm, &request);
    MPI_Recv(NULL, 0, MPI_INT, 0, BEHIND, comm, MPI_STATUS_IGNORE);
    reach(UNDER_WAY);
    expect_revoked(MPI_Wait(&request, MPI_STATUS_IGNORE));
    memset(gaps, 0x55, sizeof(gaps));
    reach(ENDED);
    expect_nothing(0);
    for (size_t i = 0; i < sizeof(gaps); i++)
        EXPECT_EQUAL("byte of a buffer whose receive has ended", 0x55, ((unsigned char *) gaps)[i]);
}

static void receive(MPI_Comm comm, enum kind kind)
{
    int word = 0, there = 0;
    if (kind == RECEIVER_WAITS) {
        receive_until_revoked(comm);
        return;
    }
    while (!there)
        EXPECT_EQUAL("MPI_Iprobe", MPI_SUCCESS, MPI_Iprobe(0, TAG, comm, &there, MPI_STATUS_IGNORE));
    reach(UNDER_WAY);
    if (kind == NOBODY_RECEIVES) {
        expect_revoked(MPI_Recv(&word, 1, MPI_INT, 0, NEVER, comm, MPI_STATUS_IGNORE));
        expect_nothing(0);
        expect_revoked(MPI_Recv(gaps, DOUBLES, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE));
        return;
    }
    wait_for(ENDED);
    if (kind == SYNCHRONOUS)
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
    else if (kind == SENDER_WAITS)
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
        wait_for(UNDER_WAY);
        MPIX_Comm_revoke(comm);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQUAL("sum", test_size, sum);
    alarm(LIMIT);
    if (kind == UNANSWERED)
        MPI_Comm_disconnect(&comm);
    else
        MPI_Comm_free(&comm);
    alarm(0);
    acts++;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 2 });
    if (test_size < 3)
        FAIL("%d ranks: allowed are 3 or more", test_size);
    share_steps();
    MPI_Type_vector(BLOCKS, 8, 16, MPI_DOUBLE, &gapped);
    MPI_Type_commit(&gapped);
    for (long round = 0; round < test_options.rounds; round++) {
        for (int kind = 0; kind < KINDS; kind++)
            act((enum kind) kind);
    }
    MPI_Type_free(&gapped);
    return test_end();
}
