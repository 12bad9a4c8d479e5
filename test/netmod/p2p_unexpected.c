/* SPDX-License-Identifier: MIT */
/*
 * p2p_unexpected.c: messages that nobody waits for yet. Every rank floods every other one with
 * small and large messages, 2,000 in all to each rank, before a single receive is posted; then
 * they are received by tag in another order, by exact source or by any source. Messages to
 * oneself, of every size, expected and not, are here too.
 */
#include <stdlib.h>

#include "support.h"

enum { FLOOD_MESSAGES = 2000, SELF_MESSAGES = 40, SELF_TAG = 30000 };

static size_t flood_bytes(int source, int dest, int tag)
{
    random_t random = { pattern_key(test_options.seed, source, dest, tag, 1) };
    return random_size(&random, test_options.bytes);
}

static uint64_t key_of(int source, int dest, int tag)
{
    return pattern_key(test_options.seed, source, dest, tag, 0);
}

static void send_flood(int per_pair, unsigned char **data, MPI_Request *requests)
{
    int count = 0;
    for (int tag = 0; tag < per_pair; tag++) {
        for (int dest = 0; dest < test_size; dest++) {
            size_t bytes = flood_bytes(test_rank, dest, tag);
            data[count] = pattern_alloc(bytes, key_of(test_rank, dest, tag));
            MPI_Isend(data[count], (int) bytes, MPI_BYTE, dest, tag, MPI_COMM_WORLD,
                      &requests[count]);
            count++;
        }
    }
}

/* One message from each rank with this tag, each from a named source or from any. */
static void receive_tag(int tag, int any_source)
{
    unsigned char *data = guarded_alloc(test_options.bytes);
    int *seen = calloc((size_t) test_size, sizeof(*seen));
    for (int i = 0; i < test_size; i++) {
        MPI_Status status;
        guarded_limit(data, test_options.bytes);
        MPI_Recv(data, (int) test_options.bytes, MPI_BYTE, any_source ? MPI_ANY_SOURCE : i, tag,
                 MPI_COMM_WORLD, &status);
        int source = any_source ? status.MPI_SOURCE : i;
        EXPECT_STATUS(&status, source, tag, flood_bytes(source, test_rank, tag));
        EXPECT_EQUAL("times this source's message came", 1, ++seen[source]);
        EXPECT_PATTERN("unexpected message", data, flood_bytes(source, test_rank, tag),
                       key_of(source, test_rank, tag));
    }
    guarded_free(data);
    free(seen);
}

static void check_flood(void)
{
    int per_pair = (FLOOD_MESSAGES + test_size - 1) / test_size;
    size_t count = (size_t) per_pair * (size_t) test_size;
    MPI_Request *requests = malloc(count * sizeof(*requests));
    unsigned char **data = malloc(count * sizeof(*data));
    int *order = malloc((size_t) per_pair * sizeof(*order));
    random_t random = { pattern_key(test_options.seed, test_rank, 0, 0, 2) };
    send_flood(per_pair, data, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    random_order(&random, order, per_pair);
    for (int i = 0; i < per_pair; i++)
        receive_tag(order[i], i % 2);
    MPI_Waitall((int) count, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < count; i++)
        guarded_free(data[i]);
    free(requests);
    free(data);
    free(order);
}

/* Sent to oneself; the receive is posted before or after, in turn. */
static void check_self_message(size_t bytes, int posted_first, int source)
{
    MPI_Request requests[2];
    MPI_Status status;
    uint64_t key = key_of(test_rank, test_rank, SELF_TAG);
    unsigned char *out = pattern_alloc(bytes, key), *in = guarded_alloc(bytes);
    if (posted_first)
        MPI_Irecv(in, (int) bytes, MPI_BYTE, source, SELF_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int) bytes, MPI_BYTE, test_rank, SELF_TAG, MPI_COMM_WORLD, &requests[1]);
    if (!posted_first) {
        MPI_Probe(source, SELF_TAG, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, test_rank, SELF_TAG, bytes);
        MPI_Irecv(in, (int) bytes, MPI_BYTE, source, SELF_TAG, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    EXPECT_STATUS(&status, test_rank, SELF_TAG, bytes);
    EXPECT_PATTERN("message to oneself", in, bytes, key);
    guarded_free(in);
    guarded_free(out);
}

static void check_self(void)
{
    random_t random = { pattern_key(test_options.seed, test_rank, 0, 0, 3) };
    for (int i = 0; i < SELF_MESSAGES; i++) {
        size_t bytes = i == 0 ? (size_t) 4 << 20 : random_size(&random, test_options.bytes);
        check_self_message(bytes, i % 2, i % 3 ? MPI_ANY_SOURCE : test_rank);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 32 << 10, .seed = 1 });
    check_self();
    check_flood();
    check_self();
    return test_end();
}
