/* SPDX-License-Identifier: MIT */
/*
 * silence.c: the wire between two hosts is cut, or a rank is stopped (test/cut/run). Two ranks; rounds= is the scene:
 *
 *   0 both wait for a message of the other; the wire is cut for good
 *   1 rank 0 sends large messages, and rank 1 takes them; the wire is cut for good
 *   2 messages of all sizes go to and fro for seconds=; the wire is cut, and mended: nothing is lost
 *   3 rank 1 is stopped for seconds=, while rank 0 sends to it: the job goes on when rank 1 does
 *   4 the same, and rank 0 waits for a message of rank 1
 *
 * SILENCE_CUT and SILENCE_MEND are commands that cut and mend what the own host sends, SILENCE_SIDES has the ranks that
 * run them, SILENCE_LIMIT the most seconds until a rank is told.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum scene { WAIT, SEND, SHORT, STOPPED_TAKER, STOPPED_SENDER, SCENES };
enum { TAG = 5, LARGE = 1 << 20, MANY = 64, MEND_AFTER = 5, FINALIZE_LIMIT = 10 };

static unsigned char data[LARGE];
static int other;

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    if (!text)
        FAIL("%s is not set", name);
    return text;
}

static void run(const char *command)
{
    if (system(command) != 0)
        FAIL("'%s' failed", command);
}

/* Cuts the wire on the sides that do so; with `mend` for some seconds only. */
static void cut(int mend)
{
    char command[1024];
    const char side[] = { (char) ('0' + test_rank), 0 };
    if (!strstr(setting("SILENCE_SIDES"), side))
        return;
    run(setting("SILENCE_CUT"));
    if (!mend)
        return;
    snprintf(command, sizeof command, "(sleep %d; %s) >/dev/null 2>&1 &", MEND_AFTER, setting("SILENCE_MEND"));
    run(command);
}

static int class_of(int error)
{
    int class = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    return class;
}

static void expect_told(double since, int error)
{
    const double took = MPI_Wtime() - since, limit = atof(setting("SILENCE_LIMIT"));
    EXPECT_EQUAL("class of the error", MPIX_ERR_PROC_FAILED, class_of(error));
    if (took > limit)
        FAIL("told after %.1f s; allowed are %.1f", took, limit);
    fprintf(stderr, "silence: rank %d told after %.1f s\n", test_rank, took);
    EXPECT_EQUAL("class of the next error", MPIX_ERR_PROC_FAILED,
                 class_of(MPI_Send(data, 1, MPI_BYTE, other, TAG, MPI_COMM_WORLD)));
}

static void wait_for_each_other(void)
{
    const double since = MPI_Wtime();
    cut(0);
    expect_told(since, MPI_Recv(data, 1, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send_large(void)
{
    int error = MPI_SUCCESS;
    double since = 0;
    for (int i = 0; error == MPI_SUCCESS; i++) {
        if (i == MANY) {
            since = MPI_Wtime();
            cut(0);
        }
        error = test_rank == 0 ? MPI_Send(data, LARGE, MPI_BYTE, other, TAG, MPI_COMM_WORLD)
                               : MPI_Recv(data, LARGE, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    expect_told(since, error);
}

static void send_one(uint64_t number, size_t bytes)
{
    pattern_fill(data, bytes, test_options.seed + number);
    test_expect_class("send", MPI_SUCCESS, MPI_Send(data, (int) bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD));
}

static void take_one(uint64_t number, size_t bytes)
{
    test_expect_class("receive", MPI_SUCCESS,
                      MPI_Recv(data, (int) bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT_EQUAL("bytes of the message", bytes, pattern_verify(data, bytes, test_options.seed + number));
}

static void go_on_after_a_short_cut(void)
{
    static const size_t sizes[] = { 1, 200, 4000, 60000, LARGE };
    const double end = MPI_Wtime() + test_options.seconds;
    int goes_on = 1, is_cut = 0;
    for (uint64_t i = 0; goes_on; i++) {
        const size_t bytes = sizes[i % (sizeof sizes / sizeof sizes[0])];
        if (i == MANY) {
            cut(1);
            is_cut = 1;
        }
        if (test_rank == 0)
            send_one(i, bytes);
        take_one(i, bytes);
        if (test_rank == 1)
            send_one(i, bytes);
        goes_on = MPI_Wtime() < end;
        test_expect_class("agreement", MPI_SUCCESS, MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    EXPECT_EQUAL("the wire was cut", 1, is_cut);
}

/* Rank 1 is stopped, and goes on after some time. */
static void stop(void)
{
    char command[128];
    if (test_rank != 1)
        return;
    snprintf(command, sizeof command, "(sleep %.0f; kill -CONT %d) >/dev/null 2>&1 &", test_options.seconds,
             (int) getpid());
    run(command);
    raise(SIGSTOP);
}

static void send_to_a_stopped_rank(void)
{
    stop();
    for (uint64_t i = 0; i < MANY; i++) {
        if (test_rank == 0)
            send_one(i, i % 2 ? LARGE : 4000);
        else
            take_one(i, i % 2 ? LARGE : 4000);
    }
}

static void wait_for_a_stopped_rank(void)
{
    stop();
    if (test_rank == 0)
        take_one(0, 200);
    else
        send_one(0, 200);
}

int main(int argc, char **argv)
{
    static void (*const scenes[SCENES])(void) = { wait_for_each_other, send_large, go_on_after_a_short_cut,
                                                  send_to_a_stopped_rank, wait_for_a_stopped_rank };
    const test_options_t defaults = { .rounds = 0, .seconds = 10, .seed = 1 };
    test_begin(argc, argv, defaults);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (test_size != 2 || test_options.rounds < 0 || test_options.rounds >= SCENES)
        FAIL("allowed are 2 ranks, and rounds= from 0 to %d", SCENES - 1);
    other = 1 - test_rank;
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(120 + (unsigned) test_options.seconds);
    scenes[test_options.rounds]();
    if (test_options.rounds > SEND)
        return test_end();
    alarm(FINALIZE_LIMIT);
    MPI_Finalize();
    if (test_rank == 0)
        puts(" No Errors");
    return 0;
}
