/* SPDX-License-Identifier: MIT */
/*
 * death_support.h: what programs share in which ranks die. Not in support.c, because the header of the standard ABI has
 * no error classes of ULFM.
 */
#ifndef DEATH_SUPPORT_H_INCLUDED
#define DEATH_SUPPORT_H_INCLUDED

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { LIMIT = 10 }; /* seconds that a survivor may take for anything */

static inline void expect_failed(const char *what, int error)
{
    test_expect_class(what, MPIX_ERR_PROC_FAILED, error);
}

static inline void expect_well(const char *what, int error)
{
    test_expect_class(what, MPI_SUCCESS, error);
}

/* Revokes the communicator, for those that wait. Up to MPICH 4.1 what a member tells others that has learned of that
 * is MPI_ERR_OTHER. */
static inline void expect_lost(const char *what, MPI_Comm comm, int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPI_ERR_OTHER)
        FAIL("%s: error of class %d", what, class);
    MPIX_Comm_revoke(comm);
}

/* Returns how many failures of the communicator's processes are acknowledged then. */
static inline int acknowledge(MPI_Comm comm)
{
    MPI_Group failed;
    int size = 0;
    expect_well("acknowledge", MPIX_Comm_failure_ack(comm));
    expect_well("what was acknowledged", MPIX_Comm_failure_get_acked(comm, &failed));
    MPI_Group_size(failed, &size);
    MPI_Group_free(&failed);
    return size;
}

static const char *step_now = "";

static inline void too_long(int number)
{
    const char *const parts[] = { "the step took too long: ", step_now, "\n" };
    for (int i = 0; i < 3; i++) {
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* Ends the program when a step hangs, and names the step; the case's own limit would not say which. */
static inline void step(const char *what)
{
    step_now = what;
    signal(SIGALRM, too_long);
    alarm(LIMIT);
    if (getenv("DEATHS_STEPS"))
        fprintf(stderr, "%d: %s\n", test_rank, what);
}

/* The end of main: returns its status. The last rank is dead by then, and rank 1 is none. */
static inline int end_of_survivors(void)
{
    step("finalize");
    if (MPI_Finalize() != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: MPI_Finalize returned an error\n", test_rank);
        return 1;
    }
    if (test_rank == 1)
        puts(" No Errors");
    return 0;
}

#endif
