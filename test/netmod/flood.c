/* SPDX-License-Identifier: MIT */
/*
 * flood.c: all ranks but the first and the last send rounds= (4,000) messages of bytes= (1 KiB) each to rank 0, which
 * first waits for a message that the last one sends after seconds= (1). Those with odd numbers send with MPI_Send, one
 * after the other. Those with even ones start all before they wait for any: every fifth is synchronous, and every
 * seventh has no data. Meanwhile neither rank 0 nor a sender may grow by more than the limit on unexpected data
 * (UNEXPECTED, a number in the environment) and the requests there are at once allow. Then all messages have to come,
 * in order, and afterwards small ones have to go eagerly again: one is received only after its MPI_Send has ended. With
 * UNEXPECTED=off rank 0 has to have grown by more, or what is measured here means nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

enum { FLOOD_TAG = 1, SIGNAL_TAG = 2, LAST_TAG = 3 };

/* What a process may take besides: rings, buffers of MPICH that come in pieces of 1 MiB. */
#define SLACK_BYTES (12L << 20)
/* A request of MPICH's, and what the netmod keeps of a message that cannot go yet. */
#define REQUEST_BYTES 1536L

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

static bool starts_all(int rank)
{
    return rank % 2 == 0;
}

static size_t bytes_of(int rank, long number)
{
    return starts_all(rank) && number % 7 == 6 ? 0 : test_options.bytes;
}

/* `senders` may make this process grow by the limit each; `starters` start all their messages at once. */
static void check_growth(long before, int senders, int starters)
{
    const char *text = getenv("MPIR_CVAR_BUFENLARGE_UNEXPECTED");
    const bool bounded = text == NULL || strcmp(text, "off") != 0;
    const long limit = text != NULL && bounded ? atol(text) : 16L << 20;
    const long grown = resident_bytes() - before;
    const long allowed = senders * limit + starters * test_options.rounds * REQUEST_BYTES + SLACK_BYTES;
    const long all = senders * test_options.rounds / 7 * 6 * (long) test_options.bytes;
    if (bounded && grown > allowed)
        FAIL("grown by %ld bytes; %d senders, of which %d start all at once, may make it grow by %ld", grown, senders,
             starters, allowed);
    if (!bounded && senders > 0 && grown < all)
        FAIL("grown by %ld bytes without a limit, though %ld have come", grown, all);
}

static uint64_t key_of(int source, long number)
{
    return pattern_key(test_options.seed, source, 0, FLOOD_TAG, (uint64_t) number);
}

static bool has_gaps(int rank)
{
    return rank % 3 == 1;
}

/* Every third sender's data has gaps: single bytes, each with one behind it that is not sent. */
static unsigned char *make_message(long number)
{
    const size_t bytes = bytes_of(test_rank, number);
    unsigned char *data = pattern_alloc(bytes, key_of(test_rank, number));
    if (!has_gaps(test_rank))
        return data;
    unsigned char *spread = guarded_alloc(2 * bytes);
    for (size_t i = 0; i < bytes; i++)
        spread[2 * i] = data[i];
    guarded_free(data);
    return spread;
}

/* All of a message's bytes are one element. */
static MPI_Datatype make_datatype(void)
{
    MPI_Datatype datatype;
    MPI_Type_vector((int) test_options.bytes, 1, has_gaps(test_rank) ? 2 : 1, MPI_BYTE, &datatype);
    MPI_Type_commit(&datatype);
    return datatype;
}

static void send_in_turn(void)
{
    const long before = resident_bytes();
    MPI_Datatype datatype = make_datatype();
    for (long number = 0; number < test_options.rounds; number++) {
        unsigned char *data = make_message(number);
        MPI_Send(data, 1, datatype, 0, FLOOD_TAG, MPI_COMM_WORLD);
        guarded_free(data);
    }
    MPI_Type_free(&datatype);
    check_growth(before, 0, 0);
}

/* MPI lets the datatype be freed while messages wait. */
static void start_all(void)
{
    const long count = test_options.rounds;
    unsigned char **data = calloc((size_t) count, sizeof(*data));
    MPI_Request *requests = calloc((size_t) count, sizeof(MPI_Request));
    MPI_Datatype datatype = make_datatype();
    if (data == NULL || requests == NULL)
        FAIL("no memory");
    for (long number = 0; number < count; number++)
        data[number] = make_message(number);
    const long before = resident_bytes();
    for (long number = 0; number < count; number++)
        (number % 5 == 4 ? MPI_Issend : MPI_Isend) (data[number], bytes_of(test_rank, number) > 0, datatype, 0,
                                                    FLOOD_TAG, MPI_COMM_WORLD, &requests[number]);
    MPI_Type_free(&datatype);
    check_growth(before, 0, 1);
    MPI_Waitall((int) count, requests, MPI_STATUSES_IGNORE);
    check_growth(before, 0, 1);
    for (long number = 0; number < count; number++)
        guarded_free(data[number]);
    free(requests);
    free(data);
}

static void flood(void)
{
    if (starts_all(test_rank))
        start_all();
    else
        send_in_turn();
    /* What allows eager data again came before this. */
    MPI_Recv(NULL, 0, MPI_BYTE, 0, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&test_rank, 1, MPI_INT, 0, LAST_TAG, MPI_COMM_WORLD);
}

static void receive_all(int senders)
{
    const long before = resident_bytes();
    MPI_Recv(NULL, 0, MPI_BYTE, test_size - 1, SIGNAL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_growth(before, senders, senders / 2);
    for (long number = 0; number < test_options.rounds; number++) {
        for (int source = 1; source <= senders; source++) {
            const size_t bytes = bytes_of(source, number);
            MPI_Status status;
            unsigned char *data = guarded_alloc(bytes);
            MPI_Recv(data, (int) bytes, MPI_BYTE, source, FLOOD_TAG, MPI_COMM_WORLD, &status);
            EXPECT_STATUS(&status, source, FLOOD_TAG, bytes);
            EXPECT_PATTERN("message of the flood", data, bytes, key_of(source, number));
            guarded_free(data);
        }
    }
    for (int source = 1; source <= senders; source++)
        MPI_Send(NULL, 0, MPI_BYTE, source, SIGNAL_TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1024, .rounds = 4000, .seconds = 1, .seed = 1 });
    const int senders = test_size - 2;
    if (senders < 1)
        FAIL("at least three ranks are needed");
    if (test_rank == 0) {
        receive_all(senders);
    } else if (test_rank <= senders) {
        flood();
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
