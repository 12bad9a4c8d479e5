/* SPDX-License-Identifier: MIT */
/*
 * deaths_windows.c: the last rank dies, and was a member of windows that the others go on to use, with
 * MPI_ERRORS_RETURN (run, case lost). rounds= is the scene:
 *
 *   0 fences, with operations of the dead rank under way and without
 *   1 start, wait and test with a group that has it; post and complete when the loss is known
 *   2 lock, flush and unlock of its part, and of all parts
 *   3 MPI_Win_free, in an epoch and in none
 *   4 survivors among themselves in a window that it has a part of: post, start, complete, wait, lock, unlock
 *
 * Rank 1 knows of the death before it goes on. Checked: the class of each error, that nothing ends well which needs the
 * dead rank, that no step takes LIMIT seconds, MPI_Finalize too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "death_support.h"
#include "window_support.h"

enum scene { FENCES, GROUPS, LOCKS, FREES, SURVIVORS, SCENES };
enum { TAG = 5, BYTES = 64, FILLED = 0x33333333 };

static int victim, next, previous; /* the last two in the ring of the survivors */
static int one = 1;
static MPI_Group world, dead, alive;

static window_t open_window(void)
{
    window_t window = window_open(WINDOW_CREATE, BYTES);
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    return window;
}

/* Every rank is connected to every other one. */
static void die(void)
{
    int word = 0;
    test_connect_all(TAG);
    if (test_rank == victim)
        raise(SIGKILL);
    step("receive");
    if (test_rank == 1)
        expect_failed("receive", MPI_Recv(&word, 1, MPI_INT, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* -- fences -- */

static void fence(void)
{
    window_t quiet = open_window(), busy = open_window();
    int got = 0;
    expect_well("fence", MPI_Win_fence(0, quiet.win));
    expect_well("fence", MPI_Win_fence(0, busy.win));
    die();
    step("fence without operations");
    expect_failed("fence without operations", MPI_Win_fence(0, quiet.win));
    step("fence with operations");
    MPI_Put(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, busy.win);
    MPI_Accumulate(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, MPI_SUM, busy.win);
    MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, busy.win);
    expect_failed("fence with operations", MPI_Win_fence(0, busy.win));
    for (int i = 0; i < 2; i++) {
        step("fence again");
        expect_failed("fence again", MPI_Win_fence(MPI_MODE_NOSUCCEED, quiet.win));
        expect_failed("fence with operations, again", MPI_Win_fence(0, busy.win));
    }
}

/* -- groups -- */

static void wait_for_group(MPI_Win win)
{
    int flag = 0, error = MPI_SUCCESS;
    step("test or wait");
    while (test_rank == 0 && error == MPI_SUCCESS) {
        error = MPI_Win_test(win, &flag);
        EXPECT_EQUAL("flag", 0, flag);
    }
    if (test_rank == 0)
        expect_failed("MPI_Win_test", error);
    for (int i = 0; i < 2; i++)
        expect_failed("MPI_Win_wait", MPI_Win_wait(win));
}

/* Of a rank that shares memory with this one MPICH asks nobody whether it lives. */
static void end_epochs(MPI_Win quiet, MPI_Win busy, MPI_Win win, int shared)
{
    const int expected = shared ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    step("complete and post");
    test_expect_class("complete", expected, MPI_Win_complete(quiet));
    const int error = MPI_Accumulate(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, MPI_SUM, busy);
    if (!shared)
        expect_failed("accumulate", error);
    expect_failed("complete with operations", MPI_Win_complete(busy));
    test_expect_class("post", expected, MPI_Win_post(dead, 0, win));
}

static void use_groups(void)
{
    const int shared = test_shares_memory(victim);
    window_t quiet = open_window(), busy = open_window(), exposed = open_window(), late = open_window();
    if (test_rank == victim) {
        MPI_Win_post(alive, 0, quiet.win);
        MPI_Win_post(alive, 0, busy.win);
        MPI_Win_start(alive, 0, exposed.win);
    } else {
        MPI_Win_post(world, 0, exposed.win);
        expect_well("start", MPI_Win_start(dead, 0, quiet.win));
        expect_well("start", MPI_Win_start(dead, 0, busy.win));
    }
    die();
    for (int i = 0; i < 2; i++) {
        step("start");
        expect_failed("start", MPI_Win_start(dead, 0, late.win));
    }
    wait_for_group(exposed.win);
    end_epochs(quiet.win, busy.win, late.win, shared);
}

/* -- locks -- */

/* What the dead rank still answered is right. */
static void flush(MPI_Win win)
{
    int got = 0, error = MPI_SUCCESS;
    step("flush");
    while (error == MPI_SUCCESS) {
        got = 0;
        error = MPI_Get(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
        if (error == MPI_SUCCESS)
            error = MPI_Win_flush(victim, win);
        if (error == MPI_SUCCESS)
            EXPECT_EQUAL("what MPI_Get has brought", FILLED, got);
    }
    expect_failed("flush", error);
    expect_failed("flush again", MPI_Win_flush(victim, win));
    expect_failed("flush_local", MPI_Win_flush_local(victim, win));
    expect_failed("flush_all", MPI_Win_flush_all(win));
    expect_failed("flush_local_all", MPI_Win_flush_local_all(win));
}

/* The parts of the others are there. */
static void use_all(MPI_Win win)
{
    int got = 0;
    step("all parts");
    expect_well("get of a survivor", MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    expect_well("flush of a survivor", MPI_Win_flush(next, win));
    EXPECT_EQUAL("what MPI_Get has brought of a survivor", FILLED, got);
    expect_failed("flush_all", MPI_Win_flush_all(win));
    expect_failed("unlock_all", MPI_Win_unlock_all(win));
}

static void lock(void)
{
    window_t quiet = open_window(), busy = open_window(), all = open_window(), late = open_window();
    int error = MPI_SUCCESS;
    expect_well("lock", MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, quiet.win));
    expect_well("lock", MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, busy.win));
    expect_well("lock_all", MPI_Win_lock_all(0, all.win));
    die();
    step("lock");
    while (error == MPI_SUCCESS) {
        error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, victim, 0, late.win);
        if (error == MPI_SUCCESS)
            error = MPI_Win_unlock(victim, late.win);
    }
    expect_failed("lock", error);
    flush(busy.win);
    step("unlock");
    expect_failed("unlock with operations", MPI_Win_unlock(victim, busy.win));
    expect_failed("unlock", MPI_Win_unlock(victim, quiet.win));
    use_all(all.win);
}

/* -- the end of windows -- */

/* It fails, and the window stays. */
static void release(void)
{
    window_t idle = open_window(), locked = open_window();
    expect_well("lock_all", MPI_Win_lock_all(0, locked.win));
    die();
    for (int i = 0; i < 2; i++) {
        step("free");
        expect_failed("free", MPI_Win_free(&idle.win));
        test_expect_class("free in an epoch", MPI_ERR_RMA_SYNC, MPI_Win_free(&locked.win));
        EXPECT_EQUAL("a window", 1, idle.win != MPI_WIN_NULL && locked.win != MPI_WIN_NULL);
    }
}

/* -- survivors -- */

static void meet_in_groups(MPI_Win win)
{
    MPI_Group to, from;
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &previous, &from);
    step("a group of survivors");
    expect_well("post", MPI_Win_post(from, 0, win));
    expect_well("start", MPI_Win_start(to, 0, win));
    expect_well("put", MPI_Put(&test_rank, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    expect_well("accumulate", MPI_Accumulate(&one, 1, MPI_INT, next, sizeof(int), 1, MPI_INT, MPI_SUM, win));
    expect_well("complete", MPI_Win_complete(win));
    expect_well("wait", MPI_Win_wait(win));
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

static void survive(void)
{
    window_t window = open_window();
    const int *words = (const int *) (const void *) window.memory;
    int got = 0;
    die();
    for (int i = 0; i < 2; i++) {
        meet_in_groups(window.win);
        EXPECT_EQUAL("what was put", previous, words[0]);
        EXPECT_EQUAL("what was added to", FILLED + i + 1, words[1]);
    }
    step("lock of a survivor");
    MPI_Sendrecv(NULL, 0, MPI_INT, previous, TAG, NULL, 0, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_well("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window.win));
    expect_well("get", MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, window.win));
    expect_well("unlock", MPI_Win_unlock(next, window.win));
    EXPECT_EQUAL("what MPI_Get has brought", test_rank, got);
}

static void (*const scenes[SCENES])(void) = { fence, use_groups, lock, release, survive };

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    if (test_options.rounds < 0 || test_options.rounds >= SCENES || test_size < 4)
        FAIL("rounds=%ld with %d ranks: allowed is rounds=0 to %d with 4 or more", test_options.rounds, test_size,
             SCENES - 1);
    victim = test_size - 1;
    next = (test_rank + 1) % victim;
    previous = (test_rank + victim - 1) % victim;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &victim, &dead);
    MPI_Group_excl(world, 1, &victim, &alive);
    scenes[test_options.rounds]();
    return end_of_survivors();
}
