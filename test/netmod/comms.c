/* SPDX-License-Identifier: MIT */
/*
 * comms.c: messages over communicators of every make: duplicates, splits, groups, intercommunicators
 * and what they merge to, grids. Each is used with checked messages at once after it was made, and
 * the same source and tag is used on two communicators at a time, which must not be mixed up. Some are freed while
 * sends are under way whose requests were freed, too.
 */
#include <stdlib.h>

#include "support.h"

enum { TAG = 21, LARGE = 20000, FREED_TAG, FREED_BLOCKS = 5000 };

static uint64_t key_of(int comm_number, int source, int dest)
{
    return pattern_key(test_options.seed, source, dest, TAG, (uint64_t) comm_number);
}

/* Each rank to each (remote) rank, of which there are `peers`; by source or by any source. */
static void exchange(MPI_Comm comm, int comm_number, int peers, size_t bytes, int any_source)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Request *sends = malloc((size_t) peers * sizeof(*sends));
    unsigned char **out = malloc((size_t) peers * sizeof(*out));
    for (int peer = 0; peer < peers; peer++) {
        out[peer] = pattern_alloc(bytes, key_of(comm_number, rank, peer));
        MPI_Isend(out[peer], (int) bytes, MPI_BYTE, peer, TAG, comm, &sends[peer]);
    }
    for (int i = 0; i < peers; i++) {
        MPI_Status status;
        unsigned char *in = guarded_alloc(bytes);
        MPI_Recv(in, (int) bytes, MPI_BYTE, any_source ? MPI_ANY_SOURCE : i, TAG, comm, &status);
        int source = any_source ? status.MPI_SOURCE : i;
        EXPECT_STATUS(&status, source, TAG, bytes);
        EXPECT_PATTERN("received", in, bytes, key_of(comm_number, source, rank));
        guarded_free(in);
    }
    MPI_Waitall(peers, sends, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < peers; peer++)
        guarded_free(out[peer]);
    free(sends);
    free(out);
}

static void use(MPI_Comm comm, int comm_number)
{
    int size, is_inter;
    MPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        MPI_Comm_remote_size(comm, &size);
    else
        MPI_Comm_size(comm, &size);
    exchange(comm, comm_number, size, 40, 0);
    MPI_Barrier(comm); /* or a wildcard could take a message of the next exchange */
    exchange(comm, comm_number, size, LARGE, 1);
    MPI_Barrier(comm);
}

/* The same envelope on two communicators: received in the opposite order of sending. */
static void check_not_mixed(MPI_Comm a, MPI_Comm b)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    int out[2] = { 2 * test_rank, 2 * test_rank + 1 }, in[2];
    MPI_Request requests[2];
    MPI_Isend(&out[0], 1, MPI_INT, right, TAG, a, &requests[0]);
    MPI_Isend(&out[1], 1, MPI_INT, right, TAG, b, &requests[1]);
    MPI_Recv(&in[1], 1, MPI_INT, left, TAG, b, MPI_STATUS_IGNORE);
    MPI_Recv(&in[0], 1, MPI_INT, left, TAG, a, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQUAL("on the first communicator", 2 * left, in[0]);
    EXPECT_EQUAL("on the second communicator", 2 * left + 1, in[1]);
}

static void check_duplicates(void)
{
    MPI_Comm dup, nonblocking_dup, with_info;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_idup(MPI_COMM_WORLD, &nonblocking_dup, &request);
    exchange(dup, 1, test_size, 100, 0); /* beside the duplication under way */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &with_info);
    use(nonblocking_dup, 2);
    use(with_info, 3);
    check_not_mixed(dup, nonblocking_dup);
    check_not_mixed(MPI_COMM_WORLD, with_info);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&nonblocking_dup);
    MPI_Comm_free(&with_info);
}

static void check_splits(void)
{
    MPI_Comm part, shared, reversed, group_comm;
    MPI_Group world, odd;
    int range[1][3] = { { test_size > 1, test_size - 1, test_size > 1 ? 2 : 1 } };
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 3, -test_rank, &part);
    use(part, 4);
    MPI_Comm_free(&part);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank == 0 ? MPI_UNDEFINED : 1, 0, &part);
    EXPECT_EQUAL("left out of the split", test_rank == 0, part == MPI_COMM_NULL);
    if (part != MPI_COMM_NULL) {
        use(part, 5);
        MPI_Comm_free(&part);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    use(shared, 6);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    use(reversed, 7);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &odd);
    int rank_in_group;
    MPI_Group_rank(odd, &rank_in_group);
    if (rank_in_group != MPI_UNDEFINED) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &group_comm);
        use(group_comm, 8);
        MPI_Comm_free(&group_comm);
    }
    MPI_Group_free(&odd);
    MPI_Group_free(&world);
    MPI_Comm_free(&shared);
    MPI_Comm_free(&reversed);
}

/* Collectives between two groups: the sum of the other side, a word from its first rank. */
static void check_between(MPI_Comm inter, int low_side)
{
    int mine = test_rank + 1, sum, expected = 0, word = test_rank;
    for (int rank = 0; rank < test_size; rank++)
        expected += (rank < test_size / 2) == low_side ? 0 : rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    EXPECT_EQUAL("sum of the other side", expected, sum);
    int rank;
    MPI_Comm_rank(inter, &rank);
    int root = low_side ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(&word, 1, MPI_INT, root, inter);
    EXPECT_EQUAL("word from the low side", low_side ? test_rank : 0, word);
}

static void check_intercommunicators(void)
{
    if (test_size < 2)
        return;
    MPI_Comm side, inter, duplicate, merged;
    int low_side = test_rank < test_size / 2, merged_rank;
    MPI_Comm_split(MPI_COMM_WORLD, low_side, test_rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, low_side ? test_size / 2 : 0, 9, &inter);
    use(inter, 9);
    check_between(inter, low_side);
    MPI_Comm_dup(inter, &duplicate);
    use(duplicate, 10);
    MPI_Intercomm_merge(inter, low_side, &merged); /* the high side comes first */
    MPI_Comm_rank(merged, &merged_rank);
    EXPECT_EQUAL("rank in the merged communicator",
                 low_side ? test_rank + test_size - test_size / 2 : test_rank - test_size / 2,
                 merged_rank);
    use(merged, 11);
    MPI_Comm_free(&side);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&merged);
}

static void check_grids(void)
{
    MPI_Comm grid, rows;
    int sizes[2] = { 0, 0 }, lower, upper, in;
    MPI_Dims_create(test_size, 2, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, (const int[]) { 1, 0 }, 1, &grid);
    use(grid, 12);
    MPI_Cart_shift(grid, 0, 1, &lower, &upper);
    MPI_Comm_rank(grid, &in);
    MPI_Sendrecv_replace(&in, 1, MPI_INT, upper, TAG, lower, TAG, grid, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("rank of the lower neighbor", lower, in);
    MPI_Cart_sub(grid, (const int[]) { 0, 1 }, &rows);
    use(rows, 13);
    MPI_Comm_free(&rows);
    MPI_Comm_free(&grid);
}

/* Many made and freed, more than are ever alive at once. */
static void check_many(void)
{
    for (long round = 0; round < test_options.rounds; round++) {
        MPI_Comm comms[8];
        for (int i = 0; i < 8; i++)
            MPI_Comm_split(MPI_COMM_WORLD, (test_rank + i) % 2, test_rank, &comms[i]);
        for (int i = 7; i >= 0; i--) {
            int size;
            MPI_Comm_size(comms[i], &size);
            exchange(comms[i], 100 + i, size, 10, 0);
            MPI_Comm_free(&comms[i]);
        }
    }
}

static void expect_words(int partner, long round)
{
    long word = -1;
    for (int i = 0; i < 3; i++) {
        MPI_Recv(&word, 1, MPI_LONG, partner, FREED_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("word after the communicator was freed", 3 * round + i, word);
    }
}

/* A send's answer, the receipt of a synchronous one or the permission to send data with gaps, meets a request that is
 * the last of its communicator: both were freed. More messages come right behind. */
static void free_early(int partner, MPI_Datatype gapped, long round)
{
    static double gaps[16 * FREED_BLOCKS];
    const MPI_Datatype type = round % 2 == 0 ? MPI_DOUBLE : gapped;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (test_rank < partner) {
        MPI_Issend(gaps, 1, type, partner, FREED_TAG, comm, &request);
        MPI_Request_free(&request);
        MPI_Comm_free(&comm);
        MPI_Send(NULL, 0, MPI_LONG, partner, FREED_TAG, MPI_COMM_WORLD);
        expect_words(partner, round);
    } else {
        long word = -1;
        MPI_Recv(NULL, 0, MPI_LONG, partner, FREED_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(gaps, 1, type, partner, FREED_TAG, comm, &request);
        for (word = 3 * round; word < 3 * round + 3; word++)
            MPI_Send(&word, 1, MPI_LONG, partner, FREED_TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
}

static void check_freed_early(void)
{
    const int partner = test_rank ^ 1;
    MPI_Comm comm;
    MPI_Datatype gapped;
    MPI_Type_vector(FREED_BLOCKS, 8, 16, MPI_DOUBLE, &gapped);
    MPI_Type_commit(&gapped);
    for (long round = 0; round < test_options.rounds; round++) {
        if (partner < test_size) {
            free_early(partner, gapped, round);
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_free(&comm);
        }
    }
    MPI_Type_free(&gapped);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .rounds = 10, .seed = 1 });
    check_duplicates();
    check_splits();
    check_intercommunicators();
    check_grids();
    check_many();
    check_freed_early();
    return test_end();
}
