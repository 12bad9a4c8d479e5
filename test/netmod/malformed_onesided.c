/* SPDX-License-Identifier: MIT */
/*
 * malformed_onesided.c: malformed_onesided WHAT: one-sided operations, or the replies to them, with values that
 * cannot be (docs/wire-protocol.md, section 9). The program makes them in a function that MPI calls in place of the
 * library's send. The receiver must end the job with an error that says what was wrong. WHAT: offset, window, cut or
 * get of an operation of rank 0, number or id of a reply of rank 1.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "instead_of_send.h"

enum { OPERATIONS = 5, REPLIES = 6, WINDOW_AT = 16, RECORD_AT = 24, REPLY_AT = 16, MESSAGE_MAX = 256 };
enum { WINDOW_BYTES = 4 << 20, PATIENCE = 100 };

static const char *what = "";
static int malformed_count;

static void add(unsigned char *at, uint32_t more)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    value += more;
    memcpy(at, &value, sizeof(value));
}

/* Returns whether something was changed. */
static int malform(unsigned char *message)
{
    const int operations = message[0] == OPERATIONS;
    if (operations && strcmp(what, "window") == 0)
        add(message + WINDOW_AT, 12345);
    else if (operations && strcmp(what, "offset") == 0)
        add(message + RECORD_AT, WINDOW_BYTES);
    else if (operations && strcmp(what, "cut") == 0)
        add(message + RECORD_AT + 8, 64);
    else if (operations && strcmp(what, "get") == 0)
        add(message + RECORD_AT + 8, 1 << 20);
    else if (!operations && strcmp(what, "number") == 0)
        add(message + REPLY_AT + 8, 1);
    else if (!operations && strcmp(what, "id") == 0)
        add(message + REPLY_AT, 1);
    else
        return 0;
    return 1;
}

static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p)
{
    unsigned char message[MESSAGE_MAX];
    struct iovec changed;

    const unsigned char *kind = iov[0].iov_base;
    if (what[0] == '\0' || iov_count != 1 || iov[0].iov_len > MESSAGE_MAX || (*kind != OPERATIONS && *kind != REPLIES))
        return library(channel, iov, iov_count, flags, bytes_sent_p);
    memcpy(message, iov[0].iov_base, iov[0].iov_len);
    malformed_count += malform(message);
    changed = (struct iovec) { .iov_base = message, .iov_len = iov[0].iov_len };
    return library(channel, &changed, 1, flags, bytes_sent_p);
}

int main(int argc, char **argv)
{
    static char memory[WINDOW_BYTES];
    char data[8] = "";
    int rank;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    what = argc > 1 ? argv[1] : "";
    const int gets = strcmp(what, "get") == 0 || strcmp(what, "id") == 0;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < PATIENCE && rank == 0; i++) {
        if (gets)
            MPI_Get(data, sizeof(data), MPI_BYTE, 1, 0, sizeof(data), MPI_BYTE, win);
        else
            MPI_Put(data, sizeof(data), MPI_BYTE, 1, 0, sizeof(data), MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
    if (rank == 1) /* until rank 0 ends the job, or this one does */
        MPI_Recv(data, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "malformed_onesided: rank %d of 2: %d malformed messages were accepted\n", rank, malformed_count);
    MPI_Finalize();
    return 1;
}
