/* SPDX-License-Identifier: MIT */
/*
 * threads_windows.c: four threads in each rank make and free windows at once, each on its own communicator, in memory
 * that the ranks of a node share. Each thread makes some before it frees the first, so that MPICH's list of segments
 * has those of all. The memory of each still holds what the rank before wrote.
 */
#include "thread_work.h"

enum { KEPT = 8 };

typedef struct {
    MPI_Win win;
    int *memory; /* one */
} kept_t;

/* Collective. The window's memory holds `value` of the rank before when this returns. */
static kept_t make_window(MPI_Comm comm, int value)
{
    kept_t made;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, comm, &made.memory, &made.win);
    MPI_Win_fence(0, made.win);
    MPI_Put(&value, 1, MPI_INT, (test_rank + 1) % test_size, 0, 1, MPI_INT, made.win);
    MPI_Win_fence(0, made.win);
    return made;
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    int left = (test_rank + test_size - 1) % test_size;
    for (long round = 0; round < worker->rounds; round++) {
        kept_t kept[KEPT];
        for (int i = 0; i < KEPT; i++)
            kept[i] = make_window(worker->comm, test_rank * KEPT + i);
        for (int i = KEPT - 1; i >= 0; i--) {
            EXPECT_EQUAL("in the window's memory", left * KEPT + i, *kept[i].memory);
            MPI_Win_free(&kept[i].win);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    test_begin_threads(argc, argv, (test_options_t) { .rounds = 20, .seed = 1 }, MPI_THREAD_MULTIPLE);
    workers_run_in_duplicates(work);
    return test_end();
}
