/* SPDX-License-Identifier: MIT */
/*
 * deaths_comms.c: the last rank dies, and the others make communicators and windows of communicators that it is in,
 * with MPI_ERRORS_RETURN (run, case lost). What needs a word of every member ends well in none. Who has an error
 * revokes the communicator, since other members may wait for it, as they do from MPICH 4.2 on; they have an error then,
 * too. What failed leaves nothing behind: after it the survivors make communicators without the dead rank. Rank 1 knows
 * of the death before it goes on. No step takes LIMIT seconds, MPI_Finalize neither.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "death_support.h"

enum { TAG = 5, COMMS = 8 };

static int one = 1;
static MPI_Group alive;

/* Every rank is connected to every other one. */
static void die(void)
{
    const int victim = test_size - 1;
    int word = 0;
    test_connect_all(TAG);
    if (test_rank == victim)
        raise(SIGKILL);
    step("receive");
    if (test_rank == 1)
        expect_failed("receive", MPI_Recv(&word, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void check_sum(MPI_Comm comm)
{
    int sum = 0;
    expect_well("sum", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    EXPECT_EQUAL("sum", test_size - 1, sum);
    MPI_Comm_free(&comm);
}

static void make_others(void)
{
    MPI_Comm made, rest;
    step("of the survivors' group");
    expect_well("create_group", MPI_Comm_create_group(MPI_COMM_WORLD, alive, TAG, &made));
    check_sum(made);
    step("of what is left");
    expect_well("shrink", MPIX_Comm_shrink(MPI_COMM_WORLD, &rest));
    expect_well("dup of what is left", MPI_Comm_dup(rest, &made));
    check_sum(made);
    expect_well("split of what is left", MPI_Comm_split(rest, 0, test_rank, &made));
    check_sum(made);
    MPI_Comm_free(&rest);
}

static void make_windows(const MPI_Comm comms[])
{
    MPI_Win win;
    void *memory;
    step("create a window");
    expect_lost("MPI_Win_create", comms[0], MPI_Win_create(&one, sizeof(one), 1, MPI_INFO_NULL, comms[0], &win));
    step("allocate a window");
    expect_lost("MPI_Win_allocate", comms[1],
        MPI_Win_allocate(sizeof(one), 1, MPI_INFO_NULL, comms[1], &memory, &win));
    step("allocate a shared window");
    expect_lost("MPI_Win_allocate_shared", comms[2],
        MPI_Win_allocate_shared(sizeof(one), 1, MPI_INFO_NULL, comms[2], &memory, &win));
    step("create a dynamic window");
    expect_lost("MPI_Win_create_dynamic", comms[3], MPI_Win_create_dynamic(MPI_INFO_NULL, comms[3], &win));
}

static void make_comms(void)
{
    MPI_Comm comms[COMMS], made;
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    die();
    step("dup");
    expect_lost("MPI_Comm_dup", comms[0], MPI_Comm_dup(comms[0], &made));
    step("split");
    expect_lost("MPI_Comm_split", comms[1], MPI_Comm_split(comms[1], test_rank % 2, 0, &made));
    step("create");
    expect_lost("MPI_Comm_create", comms[2], MPI_Comm_create(comms[2], alive, &made));
    step("dup with information");
    expect_lost("MPI_Comm_dup_with_info", comms[3], MPI_Comm_dup_with_info(comms[3], MPI_INFO_NULL, &made));
    make_windows(&comms[4]);
    make_others();
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    MPI_Group world;
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, (const int[]) { test_size - 1 }, &alive);
    make_comms();
    return end_of_survivors();
}
