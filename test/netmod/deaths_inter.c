/* SPDX-License-Identifier: MIT */
/*
 * deaths_inter.c: the last rank, which is one group of intercommunicators, dies, and those of the other group are in
 * collective operations with it (run, case lost). Who has an error revokes the intercommunicator, since others of its
 * group may wait for it in the part that is among themselves: then they have an error, too. A later operation has one
 * at once, also when it is the first that the group does among itself. No step takes LIMIT seconds.
 */
#include "death_support.h"

enum { TAG = 5, OPERATIONS = 4, WORDS = 30000, DEAD_US = 300000 };

static MPI_Comm inter[OPERATIONS], group;
static int own[WORDS], all[WORDS];

static void make(void)
{
    const int victim = test_size - 1, is_victim = test_rank == victim;
    MPI_Comm_split(MPI_COMM_WORLD, is_victim, 0, &group);
    for (int i = 0; i < OPERATIONS; i++) {
        MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_victim ? 0 : victim, TAG, &inter[i]);
        MPI_Comm_set_errhandler(inter[i], MPI_ERRORS_RETURN);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim) {
        usleep(DEAD_US);
        raise(SIGKILL);
    }
}

static void act(void)
{
    step("MPI_Bcast from the dead process");
    expect_lost("MPI_Bcast", inter[0], MPI_Bcast(all, WORDS, MPI_INT, 0, inter[0]));
    step("MPI_Allreduce with the dead process");
    expect_lost("MPI_Allreduce", inter[1], MPI_Allreduce(own, all, WORDS, MPI_INT, MPI_SUM, inter[1]));
    step("MPI_Barrier with the dead process");
    expect_lost("MPI_Barrier", inter[2], MPI_Barrier(inter[2]));
    step("MPI_Bcast after a revocation");
    if (test_rank == 1)
        MPIX_Comm_revoke(inter[3]);
    expect_lost("MPI_Bcast", inter[3], MPI_Bcast(all, WORDS, MPI_INT, 0, inter[3]));
    step("MPI_Barrier of the survivors");
    expect_well("MPI_Barrier", MPI_Barrier(group));
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 0 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make();
    act();
    for (int i = 0; i < OPERATIONS; i++)
        MPI_Comm_free(&inter[i]);
    MPI_Comm_free(&group);
    return end_of_survivors();
}
