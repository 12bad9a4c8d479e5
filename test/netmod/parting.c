/* SPDX-License-Identifier: MIT */
/*
 * parting.c: a job starts another one, each process of which sends its parent bytes= (1 MiB) and ends MPI: the send's
 * request is freed before. With rounds=1 it is that other job. The parent makes progress all the while, and receives
 * the data after seconds= (4): MPI_Finalize may not have ended before.
 */
#include <stdlib.h>

#include "support.h"

enum { CHILDREN = 2, TAG = 3, OTHER_TAG = 4 };

static void leave(MPI_Comm parent)
{
    unsigned char *data = pattern_alloc(test_options.bytes, (uint64_t) test_rank);
    MPI_Request request;
    MPI_Isend(data, (int) test_options.bytes, MPI_BYTE, 0, TAG, parent, &request);
    MPI_Request_free(&request);
    MPI_Finalize();
    guarded_free(data);
}

static void receive_late(MPI_Comm children)
{
    const double end = MPI_Wtime() + test_options.seconds;
    unsigned char *data = guarded_alloc(test_options.bytes);
    int there;
    while (MPI_Wtime() < end)
        MPI_Iprobe(0, OTHER_TAG, children, &there, MPI_STATUS_IGNORE);
    for (int child = 0; child < CHILDREN; child++) {
        MPI_Recv(data, (int) test_options.bytes, MPI_BYTE, child, TAG, children, MPI_STATUS_IGNORE);
        EXPECT_PATTERN("data of a process that has left", data, test_options.bytes, (uint64_t) child);
    }
    guarded_free(data);
}

int main(int argc, char **argv)
{
    char *arguments[] = { "rounds=1", NULL };
    MPI_Comm other;
    test_begin(argc, argv, (test_options_t) { .bytes = 1 << 20, .rounds = 0, .seconds = 4 });
    if (test_options.rounds == 1) {
        MPI_Comm_get_parent(&other);
        leave(other);
        return 0;
    }
    MPI_Comm_spawn(argv[0], arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
    receive_late(other);
    return test_end();
}
