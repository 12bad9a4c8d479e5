/* SPDX-License-Identifier: MIT */
/*
 * unmet.c: a job starts a process, and its last rank dies without a word to it. With rounds=1 it is that process: it
 * waits for a message of the dead rank, which it never had a connection to. The process manager leaves the others alone
 * (run, case lost). Checked, with errors that return: it is told within LIMIT seconds.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { TAG = 3, LIMIT = 30, DEAD_US = 300000 };

static int wait_for_the_dead(MPI_Comm parents)
{
    int word = 0, count = 0;
    MPI_Comm_remote_size(parents, &count);
    MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
    alarm(LIMIT);
    const int error = MPI_Recv(&word, 1, MPI_INT, count - 1, TAG, parents, MPI_STATUS_IGNORE);
    test_expect_class("receive from a dead process of another job", MPIX_ERR_PROC_FAILED, error);
    MPI_Send(&word, 1, MPI_INT, 0, TAG, parents);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    /* To Hydra the child ends well. */
    char *arguments[] = { "-c", "trap '' USR1; \"$0\" rounds=1; true", argv[0], NULL };
    int word = -1;
    MPI_Comm other;
    setenv("MPIR_CVAR_BUFENLARGE_CONNECT_TIMEOUT", "5s", 1);
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    if (test_options.rounds == 1) {
        MPI_Comm_get_parent(&other);
        return wait_for_the_dead(other);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_spawn("bash", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (test_rank == test_size - 1) {
        usleep(DEAD_US);
        raise(SIGKILL);
    }
    alarm(2 * LIMIT);
    MPI_Recv(&word, 1, MPI_INT, 0, TAG, other, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("what the child had got", 0, word);
    MPI_Finalize();
    puts(" No Errors");
    return 0;
}
