/* SPDX-License-Identifier: MIT */
/* collectives_support.c: see collectives_support.h. */
#include "collectives_support.h"

#include <string.h>

static const int counts[] = { 0, 1, 7, 60, 64, 1000, 1025, 8192, 100000 };

uint64_t value_of(int rank, size_t i)
{
    return pattern_key(test_options.seed, rank, 0, 0, i);
}

uint64_t *values_room(size_t count)
{
    return (uint64_t *) (void *) guarded_alloc(count * sizeof(uint64_t));
}

uint64_t *values_alloc(int rank, size_t first, size_t count)
{
    uint64_t *values = values_room(count);
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(rank, first + i);
    return values;
}

void values_free(uint64_t *values)
{
    guarded_free((unsigned char *) values);
}

void expect_values(const char *what, const uint64_t *values, int rank, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = value_of(rank, first + i);
        if (values[i] != expected)
            FAIL("%s: value %zu of rank %d: expected %llx, got %llx", what, first + i, rank,
                 (unsigned long long) expected, (unsigned long long) values[i]);
    }
}

static void run_over(MPI_Comm comm, void (*check)(const scene_t *), int count_max)
{
    scene_t scene = { .comm = comm };
    MPI_Comm_rank(comm, &scene.rank);
    MPI_Comm_size(comm, &scene.size);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && counts[i] <= count_max; i++) {
        scene.count = counts[i];
        scene.root = (int) i % scene.size;
        scene.nonblocking = 0;
        check(&scene);
        scene.nonblocking = 1;
        scene.root = scene.size - 1 - scene.root;
        check(&scene);
    }
}

void run_scenes(void (*check)(const scene_t *), int count_max)
{
    MPI_Comm duplicate, reversed, part;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 3 == 0, test_rank, &part);
    run_over(MPI_COMM_WORLD, check, count_max);
    run_over(reversed, check, count_max);
    run_over(part, check, count_max);
    run_over(duplicate, check, count_max < 1000 ? count_max : 1000);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&part);
}
