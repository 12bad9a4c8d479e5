/* SPDX-License-Identifier: MIT */
/*
 * flood_lost.c: each rank sends the last one messages of bytes= (1 KiB) until it takes no more unexpected (UNEXPECTED),
 * so that a message asks before it sends its data: rounds= (4,000) at most. Ranks with odd numbers start MANY larger
 * ones at once instead, with gaps in their data. The last rank receives none of them, and dies. The process manager
 * leaves the others alone (run, case lost). Checked, with errors that return: within LIMIT seconds what has asked ends
 * with an error, a synchronous message, too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { FLOOD = 1, SYNCHRONOUS, QUESTION, ANSWER, LIMIT = 30 };
enum { ARE_YOU_THERE, READY };

/* Large enough that few pass the limit: MPICH keeps 128 errors, and forgets the class of older ones. */
enum { MANY = 40, MANY_BYTES = 16384 };

/* Answers all until they are ready. */
static void die_later(void)
{
    int question = READY;
    MPI_Status status;
    for (int left = test_size - 1; left > 0; left -= question == READY) {
        MPI_Recv(&question, 1, MPI_INT, MPI_ANY_SOURCE, QUESTION, MPI_COMM_WORLD, &status);
        if (question == ARE_YOU_THERE)
            MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD);
    }
    raise(SIGKILL);
}

/* A question comes behind what was sent before, and its answer behind the answer to that. So after the first answer a
 * message that may go has been told so, and after the second it has gone: what is left has asked in vain. */
static int is_taken(MPI_Request * request, int victim)
{
    const int question = ARE_YOU_THERE;
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    for (int i = 0; !done && i < 2; i++) {
        MPI_Send(&question, 1, MPI_INT, victim, QUESTION, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, victim, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return done;
}

/* Sends one message after the other. Returns the first that has to ask. */
static MPI_Request send_in_turn(const char *data, int victim)
{
    MPI_Request request;
    long count = 0;
    do {
        MPI_Isend(data, (int) test_options.bytes, MPI_BYTE, victim, FLOOD, MPI_COMM_WORLD, &request);
    } while (is_taken(&request, victim) && ++count < test_options.rounds);
    if (count == 0 || count == test_options.rounds)
        FAIL("%ld messages were taken unexpected", count);
    return request;
}

/* Starts many messages, whose data has gaps. MPI lets the datatype be freed while they wait. */
static MPI_Request *start_many(const char *data, int victim)
{
    MPI_Request *requests = calloc(MANY, sizeof(MPI_Request));
    MPI_Datatype gaps;
    if (requests == NULL)
        FAIL("no memory");
    MPI_Type_vector(MANY_BYTES, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (int number = 0; number < MANY; number++)
        MPI_Isend(data, 1, gaps, victim, FLOOD, MPI_COMM_WORLD, &requests[number]);
    MPI_Type_free(&gaps);
    return requests;
}

/* The first have been taken unexpected. From one on all have asked. */
static void end_many(MPI_Request *requests)
{
    int count = 0;
    for (int number = 0; number < MANY; number++) {
        const int error = MPI_Wait(&requests[number], MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS && count == number)
            count++;
        else
            test_expect_class("one of many that have asked", MPIX_ERR_PROC_FAILED, error);
    }
    if (count == 0 || count == MANY)
        FAIL("%d messages of %d were taken unexpected", count, MANY);
    free(requests);
}

static void survive(void)
{
    const int victim = test_size - 1, ready = READY;
    char *data = calloc(1, test_options.bytes + 2 * MANY_BYTES);
    MPI_Request plain = MPI_REQUEST_NULL, synchronous, *many = NULL;
    if (data == NULL)
        FAIL("no memory");
    if (test_rank % 2 == 1)
        many = start_many(data, victim);
    else
        plain = send_in_turn(data, victim);
    MPI_Issend(data, (int) test_options.bytes, MPI_BYTE, victim, SYNCHRONOUS, MPI_COMM_WORLD, &synchronous);
    MPI_Send(&ready, 1, MPI_INT, victim, QUESTION, MPI_COMM_WORLD);
    alarm(LIMIT);
    if (many != NULL)
        end_many(many);
    else
        test_expect_class("one that has asked", MPIX_ERR_PROC_FAILED, MPI_Wait(&plain, MPI_STATUS_IGNORE));
    test_expect_class("a synchronous one", MPIX_ERR_PROC_FAILED, MPI_Wait(&synchronous, MPI_STATUS_IGNORE));
    free(data);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .bytes = 1024, .rounds = 4000 });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == test_size - 1)
        die_later();
    survive();
    MPI_Finalize();
    if (test_rank == 1)
        puts(" No Errors");
    return 0;
}
