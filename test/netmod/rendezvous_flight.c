/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_flight.c: rounds= messages of bytes= each are on their way from rank 0 to rank 1 at the same time, and
 * only messages that end the job go besides. The program checks every byte, and that no process needed memory besides
 * that of the messages. Case copyless (run) reads from the summary how much went through rings.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* Much less than one message. */
enum { TAG = 51, GO_TAG = 50, MORE_KIB_MAX = 8 << 10 };

/* The most memory this process has had, in KiB. */
static long memory_peak(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
            break;
    }
    if (file)
        fclose(file);
    if (kib < 0)
        FAIL("/proc/self/status does not tell VmHWM");
    return kib;
}

static uint64_t key_of(int i)
{
    return pattern_key(test_options.seed, 0, 1, TAG, (uint64_t) i);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 16 << 20, .rounds = 1, .seed = 1 });
    const int count = (int) test_options.rounds, go = 1;
    const size_t bytes = test_options.bytes;
    int went;
    unsigned char **data = calloc((size_t) count, sizeof(*data));
    MPI_Request *requests = malloc((size_t) count * sizeof(*requests));
    for (int i = 0; i < count && test_rank < 2; i++)
        data[i] = test_rank == 0 ? pattern_alloc(bytes, key_of(i)) : guarded_alloc(bytes);
    /* The word back opens the connection before the memory is looked at. */
    if (test_rank == 1)
        MPI_Send(&go, 1, MPI_INT, 0, GO_TAG, MPI_COMM_WORLD);
    else if (test_rank == 0)
        MPI_Recv(&went, 1, MPI_INT, 1, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const long before = memory_peak();
    for (int i = 0; i < count && test_rank == 1; i++)
        MPI_Irecv(data[i], (int) bytes, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = count - 1; i >= 0 && test_rank == 0; i--)
        MPI_Isend(data[i], (int) bytes, MPI_BYTE, 1, TAG + i, MPI_COMM_WORLD, &requests[i]);
    if (test_rank < 2)
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    const long more = memory_peak() - before;
    if (more > MORE_KIB_MAX)
        FAIL("memory: expected at most %d KiB besides the messages' own, got %ld", MORE_KIB_MAX, more);
    for (int i = 0; i < count && test_rank == 1; i++)
        EXPECT_PATTERN("one of the messages", data[i], bytes, key_of(i));
    for (int i = 0; i < count; i++)
        guarded_free(data[i]);
    free(data);
    free(requests);
    return test_end();
}
