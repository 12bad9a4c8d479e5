/* SPDX-License-Identifier: MIT */
/*
 * death_support.h: what programs share in which ranks die. Not in support.c, because the header of the standard ABI has
 * no error classes of ULFM.
 */
#ifndef DEATH_SUPPORT_H_INCLUDED
#define DEATH_SUPPORT_H_INCLUDED

#include <stdio.h>
#include <stdlib.h>
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

/* Ends the program when a step hangs; the case's own limit would not say which. */
static inline void step(const char *what)
{
    alarm(LIMIT);
    if (getenv("DEATHS_STEPS"))
        fprintf(stderr, "%d: %s\n", test_rank, what);
}

#endif
