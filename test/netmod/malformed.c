/* SPDX-License-Identifier: MIT */
/*
 * malformed.c: malformed WHAT: rank 0 sends rank 1 messages with headers that cannot be (docs/wire-protocol.md,
 * section 9). The program makes them in a function that MPI calls in place of the library's send. Rank 1 must
 * end the job with an error that says what was wrong. WHAT: kind, limit, revoke, consensus,
 * size, error, or fragments-error and fragments-size of a message in several fragments.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instead_of_send.h"

enum { KIND_AT = 0, ERROR_AT = 1, BYTES_AT = 4 };
enum { SMALL_BYTES = 8, LARGE_BYTES = 60000, PATIENCE = 1000 };

static const char *what = "";
static int malformed_count;

static void malform(unsigned char *header)
{
    uint32_t bytes;
    memcpy(&bytes, header + BYTES_AT, sizeof(bytes));
    if (strcmp(what, "size") == 0)
        bytes++;
    if (strcmp(what, "fragments-size") == 0)
        bytes = 1 << 20;
    memcpy(header + BYTES_AT, &bytes, sizeof(bytes));
    if (strcmp(what, "kind") == 0)
        header[KIND_AT] = 99;
    if (strcmp(what, "limit") == 0)
        header[KIND_AT] = 9;
    if (strcmp(what, "revoke") == 0)
        header[KIND_AT] = 10;
    if (strcmp(what, "consensus") == 0)
        header[KIND_AT] = 11;
    if (strstr(what, "error") != NULL)
        header[ERROR_AT] = 77;
}

static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p)
{
    unsigned char header[HEADER_BYTES];
    struct iovec changed[2];

    if (what[0] == '\0' || iov_count != 2 || !is_eager(iov))
        return library(channel, iov, iov_count, flags, bytes_sent_p);
    memcpy(header, iov[0].iov_base, HEADER_BYTES);
    malform(header);
    malformed_count++;
    changed[0] = (struct iovec) { .iov_base = header, .iov_len = HEADER_BYTES };
    changed[1] = iov[1];
    return library(channel, changed, iov_count, flags, bytes_sent_p);
}

int main(int argc, char **argv)
{
    static char buffer[LARGE_BYTES];
    int rank, bytes = argc > 1 && strncmp(argv[1], "fragments", 9) == 0 ? LARGE_BYTES : SMALL_BYTES;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        what = argc > 1 ? argv[1] : "";
    for (int i = 0; i < PATIENCE && malformed_count < 2; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) /* until rank 1 ends the job */
        MPI_Recv(buffer, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "malformed: rank %d of 2: %d malformed messages were accepted\n", rank, malformed_count);
    MPI_Finalize();
    return 1;
}
