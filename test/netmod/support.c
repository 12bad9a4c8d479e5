/* SPDX-License-Identifier: MIT */
/* support.c: see support.h. */
#include "support.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { GUARD_BYTES = 64, GUARD_VALUE = 0xa5, FRESH_VALUE = 0xee };

test_options_t test_options;
int test_rank;
int test_size;

static const char *program = "?";
static double started;

static void print_failure(const char *file, int line, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, arguments);
    const char *base = strrchr(file, '/');
    fprintf(stderr, "%s: rank %d of %d: %s:%d: %s (seed=%llu)\n", program, test_rank, test_size,
            base ? base + 1 : file, line, text, (unsigned long long) test_options.seed);
    fflush(stderr);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_failure(file, line, format, arguments);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void test_expect(const char *file, int line, const char *what, long long expected, long long got)
{
    if (expected != got)
        test_fail(file, line, "%s: expected %lld, got %lld", what, expected, got);
}

/* ---- begin and end ---------------------------------------------------------------------------- */

static size_t parse_bytes(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end == 'K')
        value <<= 10, end++;
    else if (*end == 'M')
        value <<= 20, end++;
    if (end == text || *end != '\0')
        FAIL("bytes=%s is not a size; allowed are a number, a number with K, a number with M", text);
    return (size_t) value;
}

static void parse_argument(const char *argument)
{
    const char *value = strchr(argument, '=');
    size_t name_length = value ? (size_t) (value - argument) : 0;
    if (name_length == 5 && strncmp(argument, "bytes", 5) == 0)
        test_options.bytes = parse_bytes(value + 1);
    else if (name_length == 6 && strncmp(argument, "rounds", 6) == 0)
        test_options.rounds = strtol(value + 1, NULL, 10);
    else if (name_length == 7 && strncmp(argument, "seconds", 7) == 0)
        test_options.seconds = strtod(value + 1, NULL);
    else if (name_length == 5 && strncmp(argument, "quiet", 5) == 0)
        test_options.quiet = strtod(value + 1, NULL);
    else if (name_length == 4 && strncmp(argument, "seed", 4) == 0)
        test_options.seed = strtoull(value + 1, NULL, 10);
    else if (name_length == 7 && strncmp(argument, "threads", 7) == 0)
        test_options.threads = (int) strtol(value + 1, NULL, 10);
    else
        FAIL("unknown argument %s; allowed are bytes=, quiet=, rounds=, seconds=, seed= and threads=", argument);
}

int test_thread_level(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "threads=1") == 0)
            return MPI_THREAD_MULTIPLE;
    }
    return MPI_THREAD_SINGLE;
}

void test_begin_threads(int argc, char **argv, test_options_t defaults, int thread_level)
{
    int provided;
    MPI_Init_thread(&argc, &argv, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    const char *base = strrchr(argv[0], '/');
    program = base ? base + 1 : argv[0];
    test_options = defaults;
    for (int i = 1; i < argc; i++)
        parse_argument(argv[i]);
    if (provided < thread_level)
        FAIL("thread level: expected at least %d, got %d", thread_level, provided);
    started = MPI_Wtime();
}

void test_begin(int argc, char **argv, test_options_t defaults)
{
    test_begin_threads(argc, argv, defaults, MPI_THREAD_SINGLE);
}

/* The text of an error, which must end within the bytes that MPI says it may have. What is behind them looks like
 * other texts. */
static const char *text_of(int error)
{
    enum { BEHIND = 65536 };
    static char text[MPI_MAX_ERROR_STRING + BEHIND];
    int length;
    for (int i = 0; i < MPI_MAX_ERROR_STRING + BEHIND; i++)
        text[i] = i % 16 == 15 ? '\0' : 'z';
    MPI_Error_string(error, text, &length);
    for (int i = MPI_MAX_ERROR_STRING; i < MPI_MAX_ERROR_STRING + BEHIND; i++) {
        if (text[i] != (i % 16 == 15 ? '\0' : 'z'))
            FAIL("MPI_Error_string wrote byte %d of a buffer of MPI_MAX_ERROR_STRING (%d): %.64s", i,
                 MPI_MAX_ERROR_STRING, text);
    }
    return text;
}

void test_expect_class(const char *what, int expected, int error)
{
    int class = MPI_SUCCESS;
    const char *text = "";
    if (error != MPI_SUCCESS) {
        MPI_Error_class(error, &class);
        text = text_of(error);
    }
    if (class != expected)
        FAIL("%s: expected class %d, got %d: %s", what, expected, class, text);
}

static void die(int number)
{
    (void) number;
    raise(SIGKILL);
}

void test_die_within(long most_us, uint64_t seed)
{
    random_t random = { .state = seed };
    const long us = 1 + (long) random_below(&random, (uint64_t) most_us);
    struct itimerval timer = { .it_value = { .tv_sec = 0, .tv_usec = us } };
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void test_connect_all(int tag)
{
    int word = 0;
    for (int peer = 0; peer < test_size; peer++)
        MPI_Sendrecv(&word, 1, MPI_INT, peer, tag, &word, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int test_end(void)
{
    int finished = 1;
    int finished_ranks = 0;
    MPI_Allreduce(&finished, &finished_ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQUAL("ranks that came to the end", test_size, finished_ranks);
    if (test_rank == 0) {
        printf(" No Errors\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

int test_another_round(long round)
{
    if (test_options.seconds <= 0)
        return round < test_options.rounds;
    int more = MPI_Wtime() - started < test_options.seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

/* ---- data with guards ------------------------------------------------------------------------- */

/* Lies before the data, with a guard between them; a multiple of the strictest alignment. */
typedef struct {
    size_t capacity;
    size_t bytes; /* where the rear guard begins */
    unsigned char guard[GUARD_BYTES - 2 * sizeof(size_t)];
} guarded_header_t;

static guarded_header_t *header_of(const unsigned char *data)
{
    return (guarded_header_t *) (uintptr_t) (data - sizeof(guarded_header_t));
}

unsigned char *guarded_alloc(size_t bytes)
{
    guarded_header_t *header = malloc(sizeof(*header) + bytes + GUARD_BYTES);
    if (!header)
        FAIL("no memory for %zu bytes", bytes);
    header->capacity = bytes;
    memset(header->guard, GUARD_VALUE, sizeof(header->guard));
    unsigned char *data = (unsigned char *) (header + 1);
    memset(data, FRESH_VALUE, bytes);
    guarded_limit(data, bytes);
    return data;
}

void guarded_limit(unsigned char *data, size_t bytes)
{
    guarded_header_t *header = header_of(data);
    if (bytes > header->capacity)
        FAIL("the test asks for %zu bytes of %zu", bytes, header->capacity);
    header->bytes = bytes;
    memset(data + bytes, GUARD_VALUE, GUARD_BYTES);
}

static void check_guard(const unsigned char *guard, size_t bytes, const char *where)
{
    for (size_t i = 0; i < bytes; i++) {
        if (guard[i] != GUARD_VALUE)
            FAIL("guard %s the data: byte %zu was overwritten with 0x%02x", where, i, guard[i]);
    }
}

void guarded_check(const unsigned char *data)
{
    const guarded_header_t *header = header_of(data);
    check_guard(header->guard, sizeof(header->guard), "before");
    check_guard(data + header->bytes, GUARD_BYTES, "behind");
}

void guarded_free(unsigned char *data)
{
    if (!data)
        return;
    guarded_check(data);
    free(header_of(data));
}

unsigned char *pattern_alloc(size_t bytes, uint64_t key)
{
    unsigned char *data = guarded_alloc(bytes);
    pattern_fill(data, bytes, key);
    return data;
}

void test_expect_pattern(const char *file, int line, const char *what, const unsigned char *data,
                         size_t bytes, uint64_t key)
{
    size_t wrong = pattern_verify(data, bytes, key);
    if (wrong < bytes)
        test_fail(file, line, "%s: byte %zu of %zu: expected 0x%02x, got 0x%02x", what, wrong,
                  bytes, pattern_byte(key, wrong), data[wrong]);
    guarded_check(data);
}

void test_expect_status(const char *file, int line, const MPI_Status *status, int source, int tag,
                        size_t bytes)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || (size_t) count != bytes)
        test_fail(file, line, "status: expected source %d tag %d bytes %zu, got %d %d %d", source,
                  tag, bytes, status->MPI_SOURCE, status->MPI_TAG, count);
}

int test_shares_memory(int rank)
{
    MPI_Comm node;
    MPI_Group here, all;
    int there;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(node, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(all, 1, &rank, here, &there);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    MPI_Comm_free(&node);
    return there != MPI_UNDEFINED;
}

/* Not the count of what came through shared memory: MPICH sets it when the last part has been unpacked, and unpacks
 * none of a message that is too long (MPIDIG_recv_copy_seg in mpidig_recv_utils.h of 4.0.2). */
void test_expect_truncated(const char *file, int line, const MPI_Status *status, int source, int tag,
                           size_t room)
{
    if (!test_shares_memory(source))
        test_expect_status(file, line, status, source, tag, room);
    else if (status->MPI_SOURCE != source || status->MPI_TAG != tag)
        test_fail(file, line, "status: expected source %d tag %d, got %d %d", source, tag, status->MPI_SOURCE,
                  status->MPI_TAG);
}
