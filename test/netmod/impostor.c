/* SPDX-License-Identifier: MIT */
/*
 * impostor.c: a process of another job, which rank 0 has a communicator with, speaks as a rank of
 * MPI_COMM_WORLD: threads=1 sends a message that looks as if it came from rank 1, threads=2 says that MPI_COMM_WORLD
 * was revoked, threads=3 begins partitioned communication as rank 1. It makes them in a function that MPI calls in
 * place of the library's send (docs/wire-protocol.md, section 9). The connection has to end, and MPI_COMM_WORLD to be
 * right. Two ranks.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "instead_of_send.h"
#include "support.h"

enum { TAG = 77, READY = 1, FORGED = 13, REAL = 42 };
enum { ACTIVE = 1, REVOKE = 10 }; /* kinds of message */

/* docs/wire-protocol.md, section 9. */
typedef struct {
    uint8_t kind, error_bits;
    uint16_t context;
    uint32_t bytes;
    int32_t rank, tag;
} eager_header_t;

/* Begins what MPICH sends for MPI_Psend_init. Up to 4.3 a context has 2 bytes, and 2 without use follow. */
typedef struct {
    int32_t rank, tag, context;
} partitioned_header_t;

static int forge;

/* Changes who has sent it. */
static bufenlarge_status_t send_partitioned(send_function_t library, bufenlarge_channel_t *channel,
                                            const struct iovec *iov, int iov_count, unsigned flags,
                                            size_t *bytes_sent_p)
{
    unsigned char message[256];
    partitioned_header_t header;
    struct iovec changed = { .iov_base = message };
    for (int i = 0; i < iov_count; i++) {
        if (changed.iov_len + iov[i].iov_len > sizeof(message))
            return library(channel, iov, iov_count, flags, bytes_sent_p);
        memcpy(message + changed.iov_len, iov[i].iov_base, iov[i].iov_len);
        changed.iov_len += iov[i].iov_len;
    }
    if (message[0] == ACTIVE && changed.iov_len >= HEADER_BYTES + sizeof(header)) {
        memcpy(&header, message + HEADER_BYTES, sizeof(header));
        if (header.tag == TAG) {
            header.rank = 1;
            header.context = 0; /* of MPI_COMM_WORLD */
        }
        memcpy(message + HEADER_BYTES, &header, sizeof(header));
    }
    return library(channel, &changed, 1, flags, bytes_sent_p);
}

static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p)
{
    eager_header_t header;
    struct iovec changed[2];

    if (forge == 3)
        return send_partitioned(library, channel, iov, iov_count, flags, bytes_sent_p);
    if (forge == 0 || iov_count != 2 || !is_eager(iov))
        return library(channel, iov, iov_count, flags, bytes_sent_p);
    memcpy(&header, iov[0].iov_base, HEADER_BYTES);
    header.context = 0; /* of MPI_COMM_WORLD */
    header.rank = 1;
    if (forge == 2) /* without data, and a context and a length of 0 are in the same places */
        header = (eager_header_t) { .kind = REVOKE };
    changed[0] = (struct iovec) { .iov_base = &header, .iov_len = HEADER_BYTES };
    changed[1] = iov[1];
    const bufenlarge_status_t status = library(channel, changed, forge == 2 ? 1 : 2, flags, bytes_sent_p);
    if (status == BUFENLARGE_OK && forge == 2)
        *bytes_sent_p += iov[1].iov_len;
    return status;
}

/* The child: first a message of its own, then the forged one. Its connection ends. */
static int be_impostor(MPI_Comm parent)
{
    int word = READY;
    MPI_Request partitioned;
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Send(&word, 1, MPI_INT, 0, TAG, parent);
    forge = test_options.threads;
    word = FORGED;
    if (forge == 3) {
        MPI_Psend_init(&word, 1, 1, MPI_INT, 0, TAG, parent, MPI_INFO_NULL, &partitioned);
        MPI_Start(&partitioned);
    } else {
        MPI_Send(&word, 1, MPI_INT, 0, TAG, parent);
    }
    forge = 0;
    MPI_Recv(&word, 1, MPI_INT, 0, TAG, parent, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

static void be_called(MPI_Comm child)
{
    int word = 0, other = 0;
    MPI_Request real;
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    if (test_options.threads == 3) {
        MPI_Precv_init(&word, 1, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &real);
        MPI_Start(&real);
    } else {
        MPI_Irecv(&word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &real);
    }
    MPI_Recv(&other, 1, MPI_INT, 0, TAG, child, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("word of the other job", READY, other);
    if (MPI_Recv(&other, 1, MPI_INT, 0, TAG, child, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        FAIL("the connection to the impostor goes on");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&real, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("word of rank 1", REAL, word);
    if (test_options.threads == 3)
        MPI_Request_free(&real);
}

static void send_real(void)
{
    int word = REAL;
    MPI_Request request;
    if (test_options.threads != 3) {
        MPI_Send(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    MPI_Psend_init(&word, 1, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    test_begin(argc, argv, (test_options_t) { .threads = 1, .seed = 1 });
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return be_impostor(parent);
    char number[32];
    snprintf(number, sizeof(number), "threads=%d", test_options.threads);
    char *arguments[] = { number, NULL };
    MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
    if (test_rank == 0) {
        be_called(child);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        send_real();
    }
    return test_end();
}
