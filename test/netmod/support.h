/* SPDX-License-Identifier: MIT */
/*
 * support.h: how every MPI program of this folder begins, checks and ends.
 *
 * A program takes arguments of the form name=value (bytes, rounds, seconds, seed, threads). It prints
 * " No Errors" from rank 0 and exits with 0 when everything was right. The first thing that is
 * wrong is printed with rank, place, expectation, what came instead, and the seed; then the job is
 * aborted, because what follows the first error seldom says more.
 */
#ifndef SUPPORT_H_INCLUDED
#define SUPPORT_H_INCLUDED

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "data_pattern.h"

typedef struct {
    size_t bytes;   /* largest message; K and M are understood on the command line */
    long rounds;    /* repetitions of the random part */
    double seconds; /* when above 0: go on for so long, whatever rounds says */
    double quiet;   /* seconds, of programs that send nothing for a while; 0: they always send */
    uint64_t seed;
    int threads;    /* of programs that have some */
} test_options_t;

extern test_options_t test_options;
extern int test_rank;
extern int test_size;

/* Whether messages from that rank come through memory that both share. Collective. */
int test_shares_memory(int rank);

/* Starts MPI and takes the arguments; an unknown one ends the job with an error. */
void test_begin(int argc, char **argv, test_options_t defaults);
void test_begin_threads(int argc, char **argv, test_options_t defaults, int thread_level);

/* To be called before MPI starts: MPI_THREAD_MULTIPLE where the arguments have threads=1, else MPI_THREAD_SINGLE. */
int test_thread_level(int argc, char **argv);

/* The class of an MPI error, which may be MPI_SUCCESS. */
void test_expect_class(const char *what, int expected, int error);

/* The process kills itself after 1 to most_us microseconds, as the seed determines, whatever it does then. By SIGALRM:
 * it may set no other alarm. */
void test_die_within(long most_us, uint64_t seed);

/* Connects every rank to every other one, by messages with this tag. Collective. */
void test_connect_all(int tag);

/* Waits for all ranks, prints the one line, ends MPI. To be returned from main(). */
int test_end(void);

/* Whether round number `round` (from 0) is still to be run; the same result on all ranks. */
int test_another_round(long round);

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void test_expect(const char *file, int line, const char *what, long long expected, long long got);

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define EXPECT_EQUAL(what, expected, got)                                                         \
    test_expect(__FILE__, __LINE__, what, (long long) (expected), (long long) (got))

/* ---- data with guards: bytes around a message that nobody may write --------------------------- */

/* Room for `bytes` bytes with a guard before and after. Never NULL. */
unsigned char *guarded_alloc(size_t bytes);
/* Checks both guards and frees. NULL is allowed. */
void guarded_free(unsigned char *data);
/* Moves the guard behind the first `bytes` bytes; at most as many as were allocated. */
void guarded_limit(unsigned char *data, size_t bytes);
void guarded_check(const unsigned char *data);

/* Guarded memory filled with the key's bytes. */
unsigned char *pattern_alloc(size_t bytes, uint64_t key);

/* Every byte is the key's and the guards are whole, or the job ends with both said. */
void test_expect_pattern(const char *file, int line, const char *what, const unsigned char *data,
                         size_t bytes, uint64_t key);
#define EXPECT_PATTERN(what, data, bytes, key)                                                    \
    test_expect_pattern(__FILE__, __LINE__, what, data, bytes, key)

/* The status' source, tag and count in bytes are the expected ones. */
void test_expect_status(const char *file, int line, const MPI_Status *status, int source, int tag,
                        size_t bytes);
#define EXPECT_STATUS(status, source, tag, bytes)                                                 \
    test_expect_status(__FILE__, __LINE__, status, source, tag, bytes)

/* The same of a receive that had room for less than came. */
void test_expect_truncated(const char *file, int line, const MPI_Status *status, int source, int tag,
                           size_t room);
#define EXPECT_TRUNCATED(status, source, tag, room)                                               \
    test_expect_truncated(__FILE__, __LINE__, status, source, tag, room)

#endif
