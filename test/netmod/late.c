/* SPDX-License-Identifier: MIT */
/*
 * late.c: rank 1 sleeps seconds= before MPI_Init, and as long again before its first communication, while all others
 * send to it and talk to each other. Connections to a process that makes no progress have to wait for it: over iWARP
 * the kernel gives an attempt up after 10 s. Checked: every byte, and that the others did wait so long.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

enum { LATE = 1, SIZES = 4, TAG = 7, CHAT_TAG = 8 };

/* In one slot, in the ring of the first phase, in an enlarged one, and by rendezvous. */
static const size_t sizes[SIZES] = { 8, 4000, 60000, 1000000 };

static void sleep_for(double seconds)
{
    struct timespec left = { .tv_sec = (time_t) seconds };
    left.tv_nsec = (long) ((seconds - (double) left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* Before MPI_Init only the process manager's variables tell the rank, and only the arguments the time. */
static void sleep_before_init(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    if (rank == NULL || atoi(rank) != LATE)
        return;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "seconds=", 8) == 0)
            sleep_for(strtod(argv[i] + 8, NULL));
}

static uint64_t key_of(int source, int dest, int i)
{
    return pattern_key(test_options.seed, source, dest, TAG, (uint64_t) i);
}

static void receive(int source, int dest, int i)
{
    MPI_Status status;
    unsigned char *data = guarded_alloc(sizes[i]);
    MPI_Recv(data, (int) sizes[i], MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
    EXPECT_STATUS(&status, source, TAG, sizes[i]);
    EXPECT_PATTERN("a message to or from the late rank", data, sizes[i], key_of(source, dest, i));
    guarded_free(data);
}

/* A number goes around all ranks but the late one, every 10 ms, until rank 0 has all of its sends complete. */
static void chat(MPI_Request *requests)
{
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
    const int right = test_rank + 1 == LATE ? LATE + 1 : (test_rank + 1) % test_size;
    const int left = test_rank - 1 == LATE ? LATE - 1 : (test_rank + test_size - 1) % test_size;
    for (int round = 0, done = 0; !done; round++) {
        int token[2] = { round, 0 };
        if (test_rank == 0) {
            MPI_Testall(SIZES, requests, &token[1], MPI_STATUSES_IGNORE);
            MPI_Send(token, 2, MPI_INT, right, CHAT_TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(token, 2, MPI_INT, left, CHAT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (test_rank != 0)
            MPI_Send(token, 2, MPI_INT, right, CHAT_TAG, MPI_COMM_WORLD);
        EXPECT_EQUAL("round of the chat", round, token[0]);
        done = token[1];
        if (test_rank == 0)
            nanosleep(&pause, NULL);
    }
}

static void talk_to_late(void)
{
    MPI_Request requests[SIZES];
    unsigned char *data[SIZES];
    const double begin = MPI_Wtime();
    for (int i = 0; i < SIZES; i++) {
        data[i] = pattern_alloc(sizes[i], key_of(test_rank, LATE, i));
        /* Synchronous: complete when the late rank has received it. */
        MPI_Issend(data[i], (int) sizes[i], MPI_BYTE, LATE, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    if (test_size > 2)
        chat(requests);
    MPI_Waitall(SIZES, requests, MPI_STATUSES_IGNORE);
    if (MPI_Wtime() - begin < 0.9 * test_options.seconds)
        FAIL("the late rank received after %.1f s, and was to sleep for %.1f", MPI_Wtime() - begin,
             test_options.seconds);
    for (int i = 0; i < SIZES; i++) {
        guarded_free(data[i]);
        receive(LATE, test_rank, i);
    }
}

static void be_late(void)
{
    sleep_for(test_options.seconds);
    for (int source = 0; source < test_size; source++)
        for (int i = 0; source != LATE && i < SIZES; i++)
            receive(source, LATE, i);
    for (int dest = 0; dest < test_size; dest++) {
        for (int i = 0; dest != LATE && i < SIZES; i++) {
            unsigned char *data = pattern_alloc(sizes[i], key_of(LATE, dest, i));
            MPI_Send(data, (int) sizes[i], MPI_BYTE, dest, TAG, MPI_COMM_WORLD);
            guarded_free(data);
        }
    }
}

int main(int argc, char **argv)
{
    sleep_before_init(argc, argv);
    test_begin(argc, argv, (test_options_t) { .seconds = 1, .seed = 1 });
    if (test_rank == LATE)
        be_late();
    else
        talk_to_late();
    return test_end();
}
