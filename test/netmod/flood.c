/* SPDX-License-Identifier: MIT */
/*
 * flood.c: all ranks but the first and the last send rounds= (4,000) messages of bytes= (1 KiB) each to rank 0, which
 * first waits for a message that the last one sends after seconds= (1). Meanwhile neither rank 0 nor a sender may grow
 * by more than the limit on unexpected data allows (UNEXPECTED, a number in the environment). Then all messages have
 * to come, in order, and afterwards small ones have to go eagerly again: one is received only after its MPI_Send has
 * ended. With UNEXPECTED=off rank 0 has to have grown by more, or what is measured here means nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

enum { FLOOD_TAG = 1, SIGNAL_TAG = 2, LAST_TAG = 3 };

/* What a process may take besides: rings, requests, buffers of MPICH that come in pieces of 1 MiB. */
#define SLACK_BYTES (12L << 20)

static long resident_bytes(void)
{
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmRSS: %ld kB", &kilobytes) == 1)
            break;
    if (file == NULL || kilobytes == 0)
        FAIL("/proc/self/status has no VmRSS");
    fclose(file);
    return kilobytes * 1024;
}

static void check_growth(long before, int senders)
{
    const char *text = getenv("MPIR_CVAR_BUFENLARGE_UNEXPECTED");
    const bool bounded = text == NULL || strcmp(text, "off") != 0;
    const long limit = text != NULL && bounded ? atol(text) : 16L << 20;
    const long grown = resident_bytes() - before;
    const long all = senders * test_options.rounds * (long) test_options.bytes;
    if (bounded && grown > senders * limit + SLACK_BYTES)
        FAIL("grown by %ld bytes; %d senders may make it grow by %ld each, and %ld", grown, senders, limit,
             SLACK_BYTES);
    if (!bounded && senders > 0 && grown < all)
        FAIL("grown by %ld bytes without a limit, though %ld have come", grown, all);
}

static uint64_t key_of(int source, long number)
{
    return pattern_key(test_options.seed, source, 0, FLOOD_TAG, (uint64_t) number);
}

/* Every third sender's data has gaps: single bytes, each with one behind it that is not sent. */
static void send_one(int bytes, long number, MPI_Datatype gaps)
{
    unsigned char *data = pattern_alloc((size_t) bytes, key_of(test_rank, number));
    if (test_rank % 3 != 1) {
        MPI_Send(data, bytes, MPI_BYTE, 0, FLOOD_TAG, MPI_COMM_WORLD);
    } else {
        unsigned char *spread = malloc(2 * (size_t) bytes);
        if (spread == NULL)
            FAIL("no memory");
        for (int i = 0; i < bytes; i++)
            spread[2 * i] = data[i];
        MPI_Send(spread, 1, gaps, 0, FLOOD_TAG, MPI_COMM_WORLD);
        free(spread);
    }
    guarded_free(data);
}

static void flood(int bytes)
{
    const long before = resident_bytes();
    MPI_Datatype gaps;
    MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (long number = 0; number < test_options.rounds; number++)
        send_one(bytes, number, gaps);
    MPI_Type_free(&gaps);
    check_growth(before, 0);
    /* What allows eager data again came before this. */
    MPI_Recv(NULL, 0, MPI_BYTE, 0, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&test_rank, 1, MPI_INT, 0, LAST_TAG, MPI_COMM_WORLD);
}

static void receive_all(int bytes, int senders)
{
    const long before = resident_bytes();
    MPI_Recv(NULL, 0, MPI_BYTE, test_size - 1, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_growth(before, senders);
    for (long number = 0; number < test_options.rounds; number++) {
        for (int source = 1; source <= senders; source++) {
            MPI_Status status;
            unsigned char *data = guarded_alloc((size_t) bytes);
            MPI_Recv(data, bytes, MPI_BYTE, source, FLOOD_TAG, MPI_COMM_WORLD, &status);
            EXPECT_STATUS(&status, source, FLOOD_TAG, (size_t) bytes);
            EXPECT_PATTERN("message of the flood", data, (size_t) bytes, key_of(source, number));
            guarded_free(data);
        }
    }
    for (int source = 1; source <= senders; source++)
        MPI_Send(NULL, 0, MPI_BYTE, source, SIGNAL_TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1024, .rounds = 4000, .seconds = 1, .seed = 1 });
    const int bytes = (int) test_options.bytes, senders = test_size - 2;
    if (senders < 1)
        FAIL("at least three ranks are needed");
    if (test_rank == 0) {
        receive_all(bytes, senders);
    } else if (test_rank <= senders) {
        flood(bytes);
    } else {
        const struct timespec wait = { .tv_sec = (time_t) test_options.seconds };
        nanosleep(&wait, NULL);
        MPI_Send(NULL, 0, MPI_BYTE, 0, SIGNAL_TAG, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int source = 1; test_rank == 0 && source <= senders; source++) {
        int from = 0;
        MPI_Recv(&from, 1, MPI_INT, source, LAST_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQUAL("last message", source, from);
    }
    return test_end();
}
