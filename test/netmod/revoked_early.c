/* SPDX-License-Identifier: MIT */
/*
 * revoked_early.c: a communicator is revoked at a moment at which another member does not have it yet, or has freed it.
 * With rounds= each of these, so often; the rank that revokes changes from round to round:
 *
 *   one member has made it (MPI_Comm_dup, MPI_Comm_split, MPI_Comm_idup, MPI_Comm_create_group, MPI_Intercomm_create)
 *   and revokes it, while the others may still be in that call: each then receives from it, and has to get the error
 *   all others have freed it when one revokes it: what they have made since, with its context, is not revoked
 *
 * Checked: the errors, and that messages in the later communicators go on.
 */
#include "support.h"

/* The tag is one of those that MPIX_Comm_shrink's own messages have, but for a bit that no program can set. */
enum { TAG = 0x700001, LATER = 3 };
enum made { DUP, SPLIT, IDUP, GROUP, INTERCOMM, MADE };

static MPI_Comm make(enum made how)
{
    MPI_Comm comm = MPI_COMM_NULL, half;
    MPI_Group group;
    MPI_Request request;
    switch (how) {
        case DUP:
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            break;
        case SPLIT:
            MPI_Comm_split(MPI_COMM_WORLD, 0, test_rank, &comm);
            break;
        case IDUP:
            MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case GROUP:
            MPI_Comm_group(MPI_COMM_WORLD, &group);
            MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &comm);
            MPI_Group_free(&group);
            break;
        default:
            MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &half);
            MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - test_rank % 2, TAG, &comm);
            MPI_Comm_free(&half);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void revoke_early(enum made how, int revoker)
{
    int word = 0, from = revoker;
    MPI_Comm comm = make(how);
    /* Between two halves: from the revoker, or its own half from the other one's first, which sends nothing. */
    if (how == INTERCOMM)
        from = revoker % 2 != test_rank % 2 ? revoker / 2 : 0;
    if (test_rank == revoker)
        MPIX_Comm_revoke(comm);
    else
        test_expect_class("class of the error", MPIX_ERR_REVOKED,
                          MPI_Recv(&word, 1, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE));
    MPI_Comm_free(&comm);
}

static void revoke_late(int revoker)
{
    int one = 1, sum;
    MPI_Comm comm = make(DUP), later[LATER], own;
    if (test_rank != revoker)
        MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_SELF, &own); /* with the context of the one that was freed */
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == revoker) {
        MPIX_Comm_revoke(comm);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < LATER; i++) {
        later[i] = make(DUP);
        sum = 0;
        EXPECT_EQUAL("error of a later communicator", MPI_SUCCESS,
                     MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, later[i]));
        EXPECT_EQUAL("sum", test_size, sum);
    }
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    EXPECT_EQUAL("error of a communicator of its own", MPI_SUCCESS, MPI_Barrier(own));
    MPI_Comm_free(&own);
    for (int i = 0; i < LATER; i++)
        MPI_Comm_free(&later[i]);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 20 });
    if (test_size < 3)
        FAIL("%d ranks: allowed are 3 or more", test_size);
    for (long round = 0; round < test_options.rounds; round++) {
        const int revoker = (int) (round % test_size);
        for (int how = 0; how < MADE; how++)
            revoke_early((enum made) how, revoker);
        revoke_late(revoker);
    }
    return test_end();
}
