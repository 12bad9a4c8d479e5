/* SPDX-License-Identifier: MIT */
/*
 * bench_common.h: what the two measuring programs share, so that MPI and the raw provider are
 * timed by the same rules: the clock, the list of sizes, the pattern that proves the data came
 * through, and how many iterations fit one size's time budget.
 */
#ifndef BENCH_COMMON_H_INCLUDED
#define BENCH_COMMON_H_INCLUDED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Messages in flight of the bandwidth and message rate measurement, as in the OSU benchmarks. */
#define BENCH_WINDOW 64

#define BENCH_SIZES_MAX 64
#define BENCH_SIZE_LIMIT (1L << 30)
#define BENCH_LARGEST_POWER (4L << 20)

typedef struct {
    size_t bytes[BENCH_SIZES_MAX];
    int count;
} bench_sizes_t;

static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* For qsort() of doubles. */
static inline int bench_ascending(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static inline void bench_add_size(bench_sizes_t * sizes, long bytes)
{
    if (bytes < 1 || bytes > BENCH_SIZE_LIMIT || sizes->count == BENCH_SIZES_MAX) {
        fprintf(stderr, "size %ld: allowed are at most %d sizes of 1 to %ld bytes\n", bytes,
                BENCH_SIZES_MAX, BENCH_SIZE_LIMIT);
        exit(2);
    }
    sizes->bytes[sizes->count++] = (size_t) bytes;
}

/* `list`: byte counts separated by commas; the word pow2 stands for 1 B to 4 MiB. */
static inline void bench_parse_sizes(const char *list, bench_sizes_t * sizes)
{
    const char *at = list;

    for (sizes->count = 0; *at != '\0'; at += *at == ',') {
        char *end = (char *) at;
        int powers = strncmp(at, "pow2", 4) == 0;
        long bytes = powers ? 0 : strtol(at, &end, 10);

        end += powers ? 4 : 0;
        if (end == at || (*end != ',' && *end != '\0')) {
            fprintf(stderr, "sizes '%s': allowed are byte counts and pow2, separated by commas\n",
                    list);
            exit(2);
        }
        if (!powers)
            bench_add_size(sizes, bytes);
        for (long power = 1; powers && power <= BENCH_LARGEST_POWER; power *= 2)
            bench_add_size(sizes, power);
        at = end;
    }
}

static inline size_t bench_largest(const bench_sizes_t * sizes)
{
    size_t largest = 1;
    for (int i = 0; i < sizes->count; i++)
        largest = sizes->bytes[i] > largest ? sizes->bytes[i] : largest;
    return largest;
}

static inline double bench_parse_seconds(const char *text)
{
    char *end = NULL;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0.0 && seconds <= 60.0)) {
        fprintf(stderr, "seconds per size '%s': allowed is more than 0, at most 60\n", text);
        exit(2);
    }
    return seconds;
}

/* Page-aligned and touched, so that no page fault is timed. */
static inline void *bench_buffer(size_t bytes)
{
    void *buffer = NULL;
    if (posix_memalign(&buffer, 4096, bytes) != 0) {
        fprintf(stderr, "no memory for a buffer of %zu bytes\n", bytes);
        exit(1);
    }
    memset(buffer, 0, bytes);
    return buffer;
}

static inline unsigned char bench_pattern(size_t index, size_t size)
{
    return (unsigned char) (index * 31 + size + 1);
}

static inline void bench_fill(unsigned char *buffer, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buffer[i] = bench_pattern(i, size);
}

/* A time taken for wrong data is not a result: ends the program. Clears what it has checked, so
 * that the next batch cannot pass on the data of this one. */
static inline void bench_verify(unsigned char *buffer, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++) {
        if (buffer[i] != bench_pattern(i, size)) {
            fprintf(stderr, "%s, size %zu: byte %zu is 0x%02x, expected 0x%02x\n", what, size, i,
                    buffer[i], bench_pattern(i, size));
            exit(1);
        }
    }
    memset(buffer, 0, size);
}

/* Runs `count` iterations at `size` on the driving side; returns the seconds they took. */
typedef double (*bench_batch_fn) (void *context, size_t size, long count);

/*
 * Seconds per iteration at `size`: the mean over one batch that fills the budget. The warm-up
 * doubles its batches until a quarter of the budget is spent, at least twice: connections, enlarged
 * rings and registrations are then in place. Its fastest batch says how many iterations fill the
 * budget (a batch that was interrupted says nothing about that); two is the least that is timed.
 */
static inline double bench_measure(bench_batch_fn run, void *context, size_t size, double budget)
{
    double spent = 0.0, fastest = 0.0;
    long count = 2;

    for (int batches = 0; batches < 2 || spent < budget / 4; batches++) {
        count *= batches > 0 ? 2 : 1;
        double seconds = run(context, size, count);
        spent += seconds;
        if (batches == 0 || seconds / (double) count < fastest)
            fastest = seconds / (double) count;
    }
    count = (long) (budget / fastest);
    if (count < 2)
        count = 2;
    return run(context, size, count) / (double) count;
}

/* One CSV line; the name, the size and the unit are all a reader needs to know the figure. */
static inline void bench_print(const char *bench, size_t size, double value, const char *unit)
{
    printf("%s,%zu,%.4f,%s\n", bench, size, value, unit);
    fflush(stdout);
}

/* The two figures of a window loop: `seconds` is the time of one window. */
static inline void bench_print_window(const char *prefix, size_t size, int window, double seconds)
{
    double rate = window / seconds;
    char name[64];

    snprintf(name, sizeof(name), "%sbandwidth", prefix);
    bench_print(name, size, rate * (double) size / 1e6, "MB/s");
    snprintf(name, sizeof(name), "%smessage_rate", prefix);
    bench_print(name, size, rate, "messages/s");
}

#endif /* BENCH_COMMON_H_INCLUDED */
