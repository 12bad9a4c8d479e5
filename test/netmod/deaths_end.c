/* SPDX-License-Identifier: MIT */
/*
 * deaths_end.c: the last rank dies, and the others end MPI (run, case lost). With rounds=
 *
 *   0  it had sent rank 1 messages, of which rank 1 receives none, and waits for one that was not sent
 *   1  rank 1 has no connection to it and takes no SIGUSR1, by which Hydra tells the ranks: it learns of the death from
 *      nobody before MPI_Finalize
 *   2  it does not die, but all others than rank 0 are gone some time before rank 0: they have not failed, and rank 0
 *      gets no signal
 *   3  the others want to begin again, with a session, which is an error
 *
 * Checked: MPI_Finalize returns in each survivor, without an error, within LIMIT seconds.
 */
#define _GNU_SOURCE
#include "death_support.h"

enum scene { UNRECEIVED, UNTOLD, PARTED, AGAIN };
enum { TAG = 1, LAST, NEVER, MESSAGES = 2, DEAD_US = 100000 };

static volatile sig_atomic_t signals;

static void count(int number)
{
    (void) number;
    signals++;
}

static void die(enum scene scene)
{
    for (int i = 0; scene == UNRECEIVED && i < MESSAGES; i++)
        MPI_Send(&test_rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    if (scene == UNRECEIVED)
        MPI_Send(NULL, 0, MPI_INT, 1, LAST, MPI_COMM_WORLD);
    usleep(DEAD_US);
    raise(SIGKILL);
}

static void leave_unreceived(int victim)
{
    int word;
    step("receive of what comes last");
    MPI_Recv(NULL, 0, MPI_INT, victim, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    step("receive of what was not sent");
    expect_failed("MPI_Recv", MPI_Recv(&word, 1, MPI_INT, victim, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static int end_alone(void)
{
    signal(SIGUSR1, count);
    const int status = end_of_survivors();
    if (test_rank > 0)
        return status;
    for (int i = 0; i < 10; i++)
        usleep(DEAD_US);
    if (signals > 0)
        fprintf(stderr, "rank 0 had %d signals\n", (int) signals);
    return signals > 0;
}

static void begin_again(void)
{
    MPI_Session session;
    step("MPI_Session_init");
    expect_failed("MPI_Session_init", MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    const int victim = test_size - 1;
    const enum scene scene = (enum scene) test_options.rounds;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (test_rank == victim && scene != PARTED)
        die(scene);
    if (test_rank == 1 && scene == UNRECEIVED)
        leave_unreceived(victim);
    if (test_rank == 1 && scene == UNTOLD)
        signal(SIGUSR1, SIG_IGN);
    if (scene == UNTOLD)
        usleep(3 * DEAD_US);
    if (scene == PARTED)
        return end_alone();
    const int status = end_of_survivors();
    if (scene == AGAIN)
        begin_again();
    return status;
}
