/* SPDX-License-Identifier: MIT */
/*
 * thread_work.h: what each of four threads of a rank does on its own communicator while the others do the same, for the
 * programs that differ in how the communicators are made. Collective over the threads with the same index.
 */
#ifndef THREAD_WORK_H_INCLUDED
#define THREAD_WORK_H_INCLUDED

#include "support.h"

enum { THREADS = 4 };

typedef struct {
    int index;
    MPI_Comm comm;   /* has the ranks of MPI_COMM_WORLD; made and freed by the program */
    random_t random; /* equal in threads of the same index on all ranks */
    long rounds;
} worker_t;

/* Runs work(&workers[i]) in a thread each and waits for them. Sets all of a worker but its communicator. */
void workers_run(worker_t *workers, void *(*work)(void *));

/* The same with a duplicate of MPI_COMM_WORLD for each worker. */
void workers_run_in_duplicates(void *(*work)(void *));

/* The key of a message of this worker. */
uint64_t worker_key(const worker_t *worker, int source, int dest, int tag, long round);

/* One message from and to each rank, the receives in any order. */
void worker_exchange(const worker_t *worker, size_t bytes, long round);

void worker_collectives(const worker_t *worker, size_t bytes, long round);

/* Writes into the next rank's part of a window, and reads it again; so does the rank before. */
void worker_window(const worker_t *worker, size_t bytes, long round);

#endif
