/* SPDX-License-Identifier: MIT */
/*
 * message_cost.c: COUNT round trips of 8-byte MPI_Send and MPI_Recv in which no MPI_Recv ever waits,
 * for counting the instructions of the two calls (bench/instructions). Usage: mpiexec -n 2
 * message_cost COUNT DIR, where DIR has two FIFOs, to0 and to1.
 *
 * An MPI_Recv that polls for a message not yet there would be counted by its luck. So each rank says
 * through the other's FIFO that its message has been sent, and MPI_Recv is called only after that.
 */
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WARM_UPS 64

/* A message that has not come after this long needs MPI calls of its sender to move on. */
#define PATIENCE_MS 200
#define HELPED_MAX 10

#define DIRECTORY_MAX 4096

static void fail(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* For reading and writing, or the open would wait for the other side. */
static int open_fifo(const char *directory, int rank)
{
    char name[DIRECTORY_MAX + 8];
    snprintf(name, sizeof(name), "%.*s/to%d", DIRECTORY_MAX, directory, rank);
    int fifo = open(name, O_RDWR);
    if (fifo < 0)
        fail(name);
    return fifo;
}

/* Connects, and by other calls than the two that are counted, because it has to wait. */
static void warm_up(int peer)
{
    long out = 0, in = 0;
    for (int i = 0; i < WARM_UPS; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void send_and_tell(long number, int peer, int fifo)
{
    MPI_Send(&number, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD);
    if (write(fifo, "", 1) != 1)
        fail("write to FIFO");
}

/* Waits without calling MPI, which could take the message in before MPI_Recv does. A library that
 * returns from MPI_Send before the message has left cannot be counted this way; it gets a little help,
 * for the rare message, and then an error instead of a hang. */
static void wait_until_told(int fifo)
{
    static int helped;
    struct pollfd ready = {.fd = fifo,.events = POLLIN };
    char told;

    while (poll(&ready, 1, PATIENCE_MS) == 0) {
        int found;
        if (++helped > HELPED_MAX) {
            fprintf(stderr, "a message was not on its way when its MPI_Send returned, %d times\n",
                    helped);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    if (read(fifo, &told, 1) != 1)
        fail("read from FIFO");
}

static void receive_what_is_there(long expected, int peer, int fifo)
{
    long number = -1;

    wait_until_told(fifo);
    MPI_Recv(&number, 1, MPI_LONG, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (number != expected) {
        fprintf(stderr, "message %ld carried %ld\n", expected, number);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks != 2 || atol(argv[1]) < 1) {
        fprintf(stderr, "usage: mpiexec -n 2 %s COUNT DIR\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int mine = open_fifo(argv[2], rank), theirs = open_fifo(argv[2], 1 - rank);
    long count = atol(argv[1]);

    warm_up(1 - rank);
    for (long i = 0; i < count; i++) {
        if (rank == 0)
            send_and_tell(i, 1, theirs);
        receive_what_is_there(i, 1 - rank, mine);
        if (rank == 1)
            send_and_tell(i, 0, theirs);
    }
    MPI_Finalize();
    return 0;
}
