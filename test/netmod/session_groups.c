/* SPDX-License-Identifier: MIT */
/*
 * session_groups.c: MPI sessions without MPI_Init, one after the other. In the first, some processes make a
 * communicator from their group and the others make none; in the second all make one together, and then one of another
 * group.
 */
#include <stdbool.h>
#include <stdio.h>

#include "support.h"

/* Every member adds up the ranks, and hands a message of options.bytes around. */
static void talk(MPI_Comm comm, uint64_t key)
{
    const size_t bytes = test_options.bytes;
    int rank, size, sum = 0;
    MPI_Status status;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT_EQUAL("sum of the ranks", size * (size - 1) / 2, sum);
    const int from = (rank + size - 1) % size;
    unsigned char *sent = pattern_alloc(bytes, key + (uint64_t) rank), *got = guarded_alloc(bytes);
    MPI_Sendrecv(sent, (int) bytes, MPI_BYTE, (rank + 1) % size, 7, got, (int) bytes, MPI_BYTE, from, 7, comm, &status);
    EXPECT_STATUS(&status, from, 7, bytes);
    EXPECT_PATTERN("message", got, bytes, key + (uint64_t) from);
    guarded_free(got);
    guarded_free(sent);
}

/* To be called by all processes of the group. */
static void talk_in(MPI_Group group, const char *tag)
{
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    talk(comm, test_options.seed);
    MPI_Comm_free(&comm);
}

/* The processes of every other rank, from `first` on. */
static void talk_every_other(MPI_Group world, int first)
{
    MPI_Group group;
    int ranges[1][3] = { {first, test_size - 1, 2} };
    MPI_Group_range_incl(world, 1, ranges, &group);
    talk_in(group, first == 0 ? "even" : "odd");
    MPI_Group_free(&group);
}

static void talk_alone(MPI_Session session)
{
    MPI_Group self;
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    talk_in(self, "self");
    MPI_Group_free(&self);
}

/* Of the first session some processes make no communicator at all. */
static void one_session(bool only_some)
{
    MPI_Session session;
    MPI_Group world;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &test_rank);
    MPI_Group_size(world, &test_size);
    if (test_rank == test_size - 1)
        talk_alone(session);
    if (test_rank % 2 == 0)
        talk_every_other(world, 0);
    if (!only_some) {
        talk_in(world, "all");
        if (test_rank % 2 == 1)
            talk_every_other(world, 1);
    }
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
}

int main(void)
{
    test_options = (test_options_t) { .bytes = 100000, .seed = 11 };
    one_session(true);
    one_session(false);
    if (test_rank == 0)
        printf(" No Errors\n");
    return 0;
}
