/* SPDX-License-Identifier: MIT */
/*
 * collectives_support.h: what the programs about collectives share: the communicators they run
 * over, the values each rank brings, and one way to write a blocking call and its nonblocking twin.
 */
#ifndef COLLECTIVES_SUPPORT_H_INCLUDED
#define COLLECTIVES_SUPPORT_H_INCLUDED

#include "support.h"

typedef struct {
    MPI_Comm comm;
    int rank;
    int size;
    int root;
    int count;
    int nonblocking;
} scene_t;

/* What rank `rank` of the communicator brings as its element i; `i` may count over blocks. */
uint64_t value_of(int rank, size_t i);

/* `count` values of `rank`, from element `first` on, in fresh guarded memory. */
uint64_t *values_alloc(int rank, size_t first, size_t count);
/* Guarded memory for `count` values that are all wrong. */
uint64_t *values_room(size_t count);
void values_free(uint64_t *values);

/* The values are those of `rank` from element `first` on. */
void expect_values(const char *what, const uint64_t *values, int rank, size_t first, size_t count);

/* Runs `check` over the world, a duplicate, a communicator in reverse order and two uneven parts,
 * with each count up to count_max and several roots, blocking and nonblocking. */
void run_scenes(void (*check)(const scene_t *), int count_max);

/* RUN(scene, Bcast, Ibcast, arguments without the request...) */
#define RUN(scene, blocking_name, nonblocking_name, ...)                                          \
    do {                                                                                          \
        if ((scene)->nonblocking) {                                                               \
            MPI_Request run_request;                                                              \
            MPI_##nonblocking_name(__VA_ARGS__, &run_request);                                    \
            MPI_Wait(&run_request, MPI_STATUS_IGNORE);                                            \
        } else {                                                                                  \
            MPI_##blocking_name(__VA_ARGS__);                                                     \
        }                                                                                         \
    } while (0)

#endif
