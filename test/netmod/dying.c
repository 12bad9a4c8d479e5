/* SPDX-License-Identifier: MIT */
/*
 * dying.c: one or two ranks die at a moment that the seed determines, in the middle of what the seed determines: small
 * messages, collective operations, one-sided ones, rendezvous, messages that make rings grow, first connections, or
 * MPI_Finalize. With rounds=0 errors return: each survivor learns of it, revokes and shrinks the communicator until
 * those that are left are the survivors, and what came was right. With rounds=1 errors are fatal: the job ends. With
 * rounds=2 errors return, and what the ranks do is to start children, talk to them and disconnect (MPI_Comm_spawn).
 * No step takes longer than LIMIT seconds, with children SPAWN_LIMIT. The process manager leaves the others alone (run,
 * case dying).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum activity { MESSAGES, COLLECTIVES, ONE_SIDED, RENDEZVOUS, GROWTH, CONNECTS, FINALIZE, SPAWN };
enum { LIMIT = 10, SPAWN_LIMIT = 30 };
enum { LATEST_US = 300000, IN_SPAWN_US = 1000000, IN_FINALIZE_US = 30000, LARGE = 1 << 20, WORDS = 64 };
enum { DRAWN = SPAWN, CHILDREN = 2 };

static const char *const names[] = { "messages", "collectives", "one-sided", "rendezvous", "growth", "connects",
                                     "finalize", "spawn" };
static char *program;
static enum activity activity;
static unsigned limit = LIMIT;
static int victims[2], victim_count;
static unsigned char out[LARGE], in[LARGE];

static int is_victim(int rank)
{
    return (victim_count > 0 && victims[0] == rank) || (victim_count > 1 && victims[1] == rank);
}

/* The kernel ends a process in which a step takes too long, and what was printed last names it. A victim has set that
 * timer itself. */
static void step(const char *what)
{
    if (!is_victim(test_rank))
        alarm(limit);
    if (getenv("DYING_STEPS"))
        fprintf(stderr, "%d: %s\n", test_rank, what);
}

static void draw(void)
{
    random_t random = { .state = test_options.seed };
    activity = (enum activity) random_below(&random, DRAWN);
    if (test_options.rounds == 2) {
        activity = SPAWN;
        limit = SPAWN_LIMIT;
    }
    victim_count = 1 + (int) random_below(&random, 2);
    victims[0] = (int) random_below(&random, (uint64_t) test_size);
    victims[1] = (victims[0] + 1 + (int) random_below(&random, (uint64_t) test_size - 1)) % test_size;
    if (test_rank == 0)
        fprintf(stderr, "seed %llu: %s, %d of %d ranks: %d %d\n", (unsigned long long) test_options.seed,
                names[activity], victim_count, test_size, victims[0], victim_count > 1 ? victims[1] : -1);
}

/* A victim's own time, which runs whatever it does. */
static void arm(long most_us)
{
    if (is_victim(test_rank))
        test_die_within(most_us, test_options.seed * 31 + (uint64_t) test_rank);
}

/* -- what the ranks do; each returns MPI's error -- */

static int pass_on(MPI_Comm comm, long round, int bytes)
{
    const int shift = 1 + (int) (round % (test_size - 1));
    const int to = (test_rank + shift) % test_size, from = (test_rank + test_size - shift) % test_size;
    memset(out, (int) (test_rank + round) & 255, (size_t) bytes);
    const int error = MPI_Sendrecv(out, bytes, MPI_BYTE, to, 1, in, bytes, MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        EXPECT_EQUAL("first byte", (from + round) & 255, in[0]);
        EXPECT_EQUAL("last byte", (from + round) & 255, in[bytes - 1]);
    }
    return error;
}

static int operate(MPI_Comm comm, long round)
{
    int words[WORDS], got[WORDS], sum = 0, one = 1, error;
    for (int i = 0; i < test_size; i++)
        words[i] = test_rank * 100 + i;
    switch (round % 4) {
        case 0:
            error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            if (error == MPI_SUCCESS)
                EXPECT_EQUAL("sum", test_size, sum);
            return error;
        case 1:
            error = MPI_Alltoall(words, 1, MPI_INT, got, 1, MPI_INT, comm);
            for (int i = 0; error == MPI_SUCCESS && i < test_size; i++)
                EXPECT_EQUAL("alltoall", i * 100 + test_rank, got[i]);
            return error;
        case 2:
            return MPI_Bcast(out, 20000, MPI_BYTE, (int) (round / 4 % test_size), comm);
        default:
            return MPI_Barrier(comm);
    }
}

static MPI_Win window = MPI_WIN_NULL;
static int *window_memory;

static int access_window(long round)
{
    const int target = (int) ((test_rank + round) % test_size);
    int one = 1, got = 0;
    int error = MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window);
    if (error == MPI_SUCCESS)
        error = MPI_Put(&one, 1, MPI_INT, target, 1 + test_rank, 1, MPI_INT, window);
    if (error == MPI_SUCCESS)
        error = MPI_Get(&got, 1, MPI_INT, target, 1 + test_rank, 1, MPI_INT, window);
    return error == MPI_SUCCESS ? MPI_Win_flush(target, window) : error;
}

/* Each parent with one child, which sends back what it got. */
static int talk_to_child(MPI_Comm children, long round)
{
    int word = test_rank + (int) round, got = -1;
    const int child = test_rank % CHILDREN;
    const int error = MPI_Sendrecv(&word, 1, MPI_INT, child, 1, &got, 1, MPI_INT, child, 1, children,
                                   MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS)
        EXPECT_EQUAL("what the child sent back", word, got);
    return error;
}

static int spawn(MPI_Comm comm, long round)
{
    /* To Hydra the children end well. */
    char *arguments[] = { "-c", "trap '' USR1; \"$0\"; true", program, NULL };
    MPI_Comm children;
    int error = MPI_Comm_spawn("bash", arguments, CHILDREN, MPI_INFO_NULL, (int) (round % test_size), comm, &children,
                               MPI_ERRCODES_IGNORE);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN);
    error = talk_to_child(children, round);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_disconnect(&children);
    return error;
}

/* A child ends when all its parents have talked, or when one of them died. */
static int be_child(MPI_Comm parents)
{
    int count = 0, word = 0, error = MPI_SUCCESS;
    limit = SPAWN_LIMIT;
    MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(parents, &count);
    for (int parent = test_rank; error == MPI_SUCCESS && parent < count; parent += CHILDREN) {
        step("a child's talk");
        error = MPI_Recv(&word, 1, MPI_INT, parent, 1, parents, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS)
            error = MPI_Send(&word, 1, MPI_INT, parent, 1, parents);
    }
    step("a child's end");
    if (error == MPI_SUCCESS)
        MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return 0;
}

static int act(MPI_Comm comm, long round)
{
    switch (activity) {
        case COLLECTIVES: return operate(comm, round);
        case ONE_SIDED: return access_window(round);
        case RENDEZVOUS: return pass_on(comm, round, LARGE - (int) (round % 1000));
        case GROWTH: return pass_on(comm, round, 1 + (int) (round * 700 % 65000));
        case SPAWN: return spawn(comm, round);
        default: return pass_on(comm, round, 1 + (int) (round % 100));
    }
}

/* -- what the survivors do then -- */

/* Whether these are the survivors, and can talk to each other. */
static int is_whole(MPI_Comm comm)
{
    int size = 0, sum = 0, one = 1;
    MPI_Comm_size(comm, &size);
    const int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return error == MPI_SUCCESS && sum == size && size == test_size - victim_count;
}

static void repair(MPI_Comm comm)
{
    MPI_Comm shrunk;
    for (int whole = 0; !whole;) {
        step("revoke and shrink");
        MPIX_Comm_revoke(comm);
        EXPECT_EQUAL("shrink", MPI_SUCCESS, MPIX_Comm_shrink(comm, &shrunk));
        MPI_Comm_set_errhandler(shrunk, MPI_ERRORS_RETURN);
        step("use what is left");
        whole = is_whole(shrunk);
        if (!whole)
            MPIX_Comm_revoke(shrunk);   /* a member whose partners have not failed may still wait for one */
        whole = MPIX_Comm_agree(shrunk, &whole) == MPI_SUCCESS && whole;
        comm = shrunk;
    }
}

/* A spawn whose children cannot be reached has the error of a port. */
static void check_error(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    if (activity == SPAWN && class == MPI_ERR_PORT)
        return;
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPIX_ERR_PROC_FAILED_PENDING
        && !(class == MPI_ERR_OTHER && (activity == COLLECTIVES || activity == SPAWN)))
        FAIL("error of class %d", class);
}

static void begin_window(MPI_Comm comm)
{
    MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &window_memory, &window);
    if (test_options.rounds == 0)
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memset(window_memory, 0, WORDS * sizeof(int));
    MPI_Win_lock_all(0, window);
    MPI_Barrier(comm);
}

static void live_until_error(MPI_Comm comm)
{
    int error = MPI_SUCCESS;
    for (long round = 0; error == MPI_SUCCESS; round++) {
        step("activity");
        error = act(comm, round);
    }
    check_error(error);
}

/* The first survivor prints the line. */
static void print_end(void)
{
    for (int rank = 0; rank <= test_rank; rank++) {
        if (is_victim(rank))
            continue;
        if (rank == test_rank)
            puts(" No Errors");
        break;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm, parents;
    program = argv[0];
    alarm(2 * SPAWN_LIMIT);     /* for a child whose parents have died meanwhile */
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    alarm(0);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        return be_child(parents);
    if (test_options.rounds > 2 || test_size < 4 || test_size > WORDS - 1)
        FAIL("rounds=%ld with %d ranks: allowed is rounds=0, 1 or 2 with 4 to %d ranks", test_options.rounds, test_size,
             WORDS - 1);
    draw();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (test_options.rounds != 1)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (activity != CONNECTS)
        MPI_Barrier(comm);
    if (activity == ONE_SIDED)
        begin_window(comm);
    if (activity == FINALIZE) {
        arm(IN_FINALIZE_US);
    } else {
        arm(activity == SPAWN ? IN_SPAWN_US : LATEST_US);
        live_until_error(comm);
        repair(comm);
    }
    step("finalize");
    MPI_Finalize();
    if (!is_victim(test_rank))
        alarm(0);
    print_end();
    return 0;
}
