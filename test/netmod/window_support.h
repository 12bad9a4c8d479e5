/* SPDX-License-Identifier: MIT */
/* window_support.h: windows of each flavor under one hand, for the one-sided programs. */
#ifndef WINDOW_SUPPORT_H_INCLUDED
#define WINDOW_SUPPORT_H_INCLUDED

#include "support.h"

enum window_flavor { WINDOW_CREATE, WINDOW_ALLOCATE, WINDOW_DYNAMIC, WINDOW_FLAVORS };

typedef struct {
    enum window_flavor flavor;
    MPI_Win win;
    unsigned char *memory; /* this rank's, `bytes` long */
    size_t bytes;
    MPI_Aint *bases; /* dynamic: where each rank's memory begins; else NULL */
} window_t;

/* Collective over MPI_COMM_WORLD; the memory is filled with WINDOW_FILLER. */
window_t window_open(enum window_flavor flavor, size_t bytes);
void window_close(window_t *window);

enum { WINDOW_FILLER = 0x33 };

/* The displacement that names byte `offset` of `rank`'s memory. */
MPI_Aint window_place(const window_t *window, int rank, size_t offset);

/* Between two exchanges: all ranks have finished, and local loads see what was written. */
void window_settle(const window_t *window);

/* Bytes `offset` .. `offset + bytes - 1` of the own memory are the key's, the 64 behind them are
 * WINDOW_FILLER; then all of them are made WINDOW_FILLER again. */
void window_expect(const char *what, const window_t *window, size_t offset, size_t bytes,
                   uint64_t key);

#endif
