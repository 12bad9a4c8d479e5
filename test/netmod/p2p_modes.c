/* SPDX-License-Identifier: MIT */
/*
 * p2p_modes.c: what each mode promises, one after the other: a synchronous send does not end
 * before its receive, ready, buffered and persistent sends, Testsome and Waitany, cancelled
 * receives and sends, truncation. Ranks work round the ring: to the right, from the left.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { TAG = 11, GO_TAG = 12, PERSISTENT_STARTS = 5, MANY = 24 };

/* MPICH rounds each buffered message up, which MPI_BSEND_OVERHEAD does not include. */
enum { BSEND_ROUNDING = 16 };

static const size_t sizes[] = { 0, 1, 400, 512, 5000, 8192, 100000, 1000000, 3 << 20 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int left, right;

static uint64_t key_of(int source, int dest, int tag, uint64_t index)
{
    return pattern_key(test_options.seed, source, dest, tag, index);
}

static unsigned char *outgoing(size_t bytes, int dest, int tag, uint64_t index)
{
    return pattern_alloc(bytes, key_of(test_rank, dest, tag, index));
}

static void receive_checked(size_t bytes, int source, int tag, uint64_t index)
{
    MPI_Status status;
    unsigned char *data = guarded_alloc(bytes);
    MPI_Recv(data, (int) bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, source, tag, bytes);
    EXPECT_PATTERN("received", data, bytes, key_of(source, test_rank, tag, index));
    guarded_free(data);
}

/* The receive is started only after a word from the sender that its Issend is still open. */
static void check_synchronous(size_t bytes)
{
    int done, word = 1;
    MPI_Request requests[2];
    unsigned char *data = outgoing(bytes, right, TAG, 1);
    MPI_Issend(data, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 100; i++) {
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("synchronous send done before its receive", 0, done);
    }
    MPI_Isend(&word, 1, MPI_INT, right, GO_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(&done, 1, MPI_INT, left, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive_checked(bytes, left, TAG, 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    guarded_free(data);
}

static void check_ready(size_t bytes)
{
    MPI_Request request;
    MPI_Status status;
    unsigned char *in = guarded_alloc(bytes);
    unsigned char *out = outgoing(bytes, right, TAG, 2);
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    EXPECT_STATUS(&status, left, TAG, bytes);
    EXPECT_PATTERN("ready", in, bytes, key_of(left, test_rank, TAG, 2));
    guarded_free(in);
    guarded_free(out);
}

/* A buffered send returns without its receive, and its data may be overwritten at once. */
static void check_buffered(size_t bytes)
{
    int attached_bytes = 2 * (int) (bytes + MPI_BSEND_OVERHEAD + BSEND_ROUNDING);
    void *attached = malloc((size_t) attached_bytes);
    MPI_Buffer_attach(attached, attached_bytes);
    for (uint64_t i = 3; i < 5; i++) {
        unsigned char *data = outgoing(bytes, right, TAG, i);
        MPI_Bsend(data, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD);
        memset(data, 0, bytes);
        guarded_free(data);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    receive_checked(bytes, left, TAG, 3);
    receive_checked(bytes, left, TAG, 4);
    MPI_Buffer_detach(&attached, &attached_bytes);
    free(attached);
}

static void check_persistent(size_t bytes)
{
    MPI_Request requests[2];
    unsigned char *in = guarded_alloc(bytes), *out = guarded_alloc(bytes);
    MPI_Recv_init(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    for (uint64_t i = 0; i < PERSISTENT_STARTS; i++) {
        pattern_fill(out, bytes, key_of(test_rank, right, TAG, 10 + i));
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT_PATTERN("persistent", in, bytes, key_of(left, test_rank, TAG, 10 + i));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    guarded_free(in);
    guarded_free(out);
}

/* Many receives with own tags, completed by Testsome or by Waitany. */
static void check_some(int by_testsome)
{
    MPI_Request requests[2 * MANY];
    unsigned char *in[MANY], *out[MANY];
    int seen[2 * MANY] = { 0 };
    for (int i = 0; i < MANY; i++) {
        size_t bytes = sizes[i % SIZES];
        in[i] = guarded_alloc(bytes);
        out[i] = outgoing(bytes, right, TAG + i, 20);
        MPI_Irecv(in[i], (int) bytes, MPI_BYTE, left, TAG + i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MANY; i++) {
        int j = MANY - 1 - i; /* against the order of the receives */
        MPI_Isend(out[j], (int) sizes[j % SIZES], MPI_BYTE, right, TAG + j, MPI_COMM_WORLD,
                  &requests[MANY + j]);
    }
    for (int done = 0; done < 2 * MANY;) {
        int count = 1, indices[2 * MANY];
        MPI_Status statuses[2 * MANY];
        if (by_testsome)
            MPI_Testsome(2 * MANY, requests, &count, indices, statuses);
        else
            MPI_Waitany(2 * MANY, requests, &indices[0], &statuses[0]);
        for (int i = 0; i < count; i++, done++) {
            int index = indices[i];
            EXPECT_EQUAL("times completed", 1, ++seen[index]);
            if (index < MANY) {
                EXPECT_STATUS(&statuses[i], left, TAG + index, sizes[index % SIZES]);
                EXPECT_PATTERN("one of many", in[index], sizes[index % SIZES],
                               key_of(left, test_rank, TAG + index, 20));
            }
        }
    }
    for (int i = 0; i < MANY; i++) {
        guarded_free(in[i]);
        guarded_free(out[i]);
    }
}

/* A cancelled receive takes no message: the one sent afterwards goes to the next receive. */
static void check_cancel_receive(size_t bytes)
{
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled;
    unsigned char *unused = guarded_alloc(bytes);
    unsigned char *out = outgoing(bytes, right, TAG, 30);
    MPI_Irecv(unused, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_EQUAL("receive cancelled", 1, cancelled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    receive_checked(bytes, left, TAG, 30);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    guarded_free(unused);
    guarded_free(out);
}

/* MPI lets a send be cancelled or not, but it must say which, and the data must follow suit. */
static void check_cancel_send(size_t bytes)
{
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled, left_cancelled, found;
    unsigned char *out = outgoing(bytes, right, TAG, 31);
    MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Irecv(&left_cancelled, 1, MPI_INT, left, GO_TAG, MPI_COMM_WORLD, &requests[1]);
    unsigned char *in = guarded_alloc(bytes);
    MPI_Request receive; /* begun before the wait: a send not cancelled may wait for it */
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &receive);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Send(&cancelled, 1, MPI_INT, right, GO_TAG, MPI_COMM_WORLD);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (left_cancelled) {
        MPI_Cancel(&receive);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &found);
        EXPECT_EQUAL("receive of a cancelled send: itself cancelled", 1, found);
    } else {
        MPI_Wait(&receive, &status);
        EXPECT_STATUS(&status, left, TAG, bytes);
        EXPECT_PATTERN("send not cancelled", in, bytes, key_of(left, test_rank, TAG, 31));
    }
    guarded_free(in);
    guarded_free(out);
}

/* Too large a message: MPI_ERR_TRUNCATE, nothing written behind, and the next one is right. */
static void check_truncation(size_t sent, size_t room, int expected_first)
{
    MPI_Request request;
    MPI_Status status;
    int class;
    unsigned char *out = outgoing(sent, right, TAG, 32), *in = guarded_alloc(room);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (expected_first)
        MPI_Irecv(in, (int) room, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request send;
    MPI_Isend(out, (int) sent, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &send);
    if (!expected_first) {
        MPI_Probe(left, TAG, MPI_COMM_WORLD, &status);
        EXPECT_STATUS(&status, left, TAG, sent);
        MPI_Irecv(in, (int) room, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &request);
    }
    int error = MPI_Wait(&request, &status);
    MPI_Error_class(error, &class);
    EXPECT_EQUAL("error class of a truncated receive", MPI_ERR_TRUNCATE, class);
    guarded_check(in);
    EXPECT_EQUAL("result of the truncated send", MPI_SUCCESS, MPI_Wait(&send, &status));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    guarded_free(in);
    guarded_free(out);
    MPI_Barrier(MPI_COMM_WORLD);
    out = outgoing(sent, right, TAG, 33);
    MPI_Isend(out, (int) sent, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &send);
    receive_checked(sent, left, TAG, 33);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    guarded_free(out);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1000000, .seed = 1 });
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    for (int i = 0; i < SIZES && sizes[i] <= test_options.bytes; i++) {
        check_synchronous(sizes[i]);
        check_ready(sizes[i]);
        check_buffered(sizes[i]);
        check_persistent(sizes[i]);
        check_cancel_receive(sizes[i]);
        check_cancel_send(sizes[i]);
        for (size_t room = 0; room < sizes[i]; room = 3 * room + 100) {
            check_truncation(sizes[i], room, 0);
            check_truncation(sizes[i], room, 1);
        }
    }
    check_some(0);
    check_some(1);
    return test_end();
}
