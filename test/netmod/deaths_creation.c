/* SPDX-License-Identifier: MIT */
/*
 * deaths_creation.c: the ranks make windows on and on, and the last one dies meanwhile, at a moment that the seed
 * determines, with MPI_ERRORS_RETURN (run, case lost). rounds= is the kind of window and, in steps of four, another
 * moment: 0 MPI_Win_create, 1 MPI_Win_allocate, 2 MPI_Win_allocate_shared, 3 MPI_Win_create_dynamic.
 *
 * A member that has got a window uses it, and gets an error there when another one has not. What failed leaves nothing
 * behind: after FEW creations with the dead rank, and with rounds=0 after MANY, which are more than there are contexts,
 * the next window has the number that was next before, and the survivors can make communicators. No step takes LIMIT
 * seconds, MPI_Finalize neither.
 */
#include <stdio.h>

#include "death_support.h"

enum kind { CREATE, ALLOCATE, SHARED, DYNAMIC, KINDS };
enum { TAG = 5, BYTES = 4096, FEW = 50, MANY = 2100, LATEST_US = 20000 };

static char own[BYTES];

static int make(MPI_Comm comm, MPI_Win *win)
{
    void *memory;
    switch (test_options.rounds % KINDS) {
        case CREATE: return MPI_Win_create(own, BYTES, 1, MPI_INFO_NULL, comm, win);
        case ALLOCATE: return MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, comm, &memory, win);
        case SHARED: return MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, comm, &memory, win);
        default: return MPI_Win_create_dynamic(MPI_INFO_NULL, comm, win);
    }
}

/* Who has an error in a window ends it all the same: up to MPICH 4.1 members that have none wait for it. */
static int make_and_use(MPI_Comm comm)
{
    MPI_Win win;
    int error = make(comm, &win);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    const int in_fence = MPI_Win_fence(0, win), in_free = MPI_Win_free(&win);
    return in_fence != MPI_SUCCESS ? in_fence : in_free;
}

static void live_until_error(MPI_Comm comm)
{
    int error = MPI_SUCCESS;
    if (test_rank == test_size - 1)
        test_die_within(LATEST_US, test_options.seed * 31 + (uint64_t) test_options.rounds);
    while (error == MPI_SUCCESS) {
        if (test_rank != test_size - 1)
            step("make a window");
        error = make_and_use(comm);
    }
    expect_lost("a window that is made", comm, error);
}

static MPI_Fint next_number(MPI_Comm comm)
{
    MPI_Win win;
    expect_well("window of the survivors", make(comm, &win));
    const MPI_Fint number = MPI_Win_c2f(win);
    expect_well("fence of the survivors", MPI_Win_fence(0, win));
    expect_well("free of the survivors", MPI_Win_free(&win));
    return number;
}

/* Each survivor with the last rank, so that what the survivor does there fails without the others. */
static MPI_Comm make_pair(void)
{
    const int victim = test_size - 1;
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int rank = 0; rank < victim; rank++) {
        if (test_rank != rank && test_rank != victim)
            continue;
        MPI_Group_incl(world, 2, (const int[]) { rank, victim }, &group);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &pair);
        MPI_Group_free(&group);
    }
    MPI_Group_free(&world);
    return pair;
}

static void leave_nothing(MPI_Comm pair, MPI_Comm rest)
{
    const int count = test_options.rounds == 0 ? MANY : FEW;
    MPI_Win win;
    MPI_Comm made;
    step("windows of the survivors");
    const MPI_Fint before = next_number(rest);
    for (int i = 0; i < count; i++) {
        if (i % 100 == 0)
            step("many windows");
        if (make(pair, &win) == MPI_SUCCESS)
            FAIL("a window with a dead rank was made");
    }
    step("what was next");
    alarm(3 * LIMIT); /* others may still make theirs */
    EXPECT_EQUAL("number of the next window", before, next_number(rest));
    expect_well("dup of what is left", MPI_Comm_dup(rest, &made));
    MPI_Comm_free(&made);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, rest;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const MPI_Comm pair = make_pair();
    test_connect_all(TAG);
    live_until_error(comm);
    step("shrink");
    expect_well("shrink", MPIX_Comm_shrink(comm, &rest));
    leave_nothing(pair, rest);
    MPI_Comm_free(&rest);
    MPI_Comm_free(&comm);
    return end_of_survivors();
}
