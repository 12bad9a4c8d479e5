/* SPDX-License-Identifier: MIT */
/*
 * layout.h: an MPI datatype together with the places in memory it must stand for.
 *
 * The places are worked out here, by copying the blocks of the inner layout to each place the
 * constructor names, and not asked from MPI; so they say what MPI has to do.
 */
#ifndef LAYOUT_H_INCLUDED
#define LAYOUT_H_INCLUDED

#include <mpi.h>
#include <stddef.h>

#include "data_pattern.h"

typedef struct {
    ptrdiff_t offset;
    size_t bytes;
} block_t;

typedef struct {
    MPI_Datatype type; /* committed */
    block_t *blocks;   /* in the order of the type map; neighbours are joined */
    size_t count;
    size_t bytes; /* sum of the blocks */
    ptrdiff_t lower_bound;
    ptrdiff_t extent;
} layout_t;

layout_t layout_of_basic(MPI_Datatype type);
void layout_destroy(layout_t *layout);

/* Constructors take their inner layout over: it is destroyed. */
layout_t layout_contiguous(layout_t inner, int count);
layout_t layout_vector(layout_t inner, int count, int block, int stride);
layout_t layout_hvector(layout_t inner, int count, int block, ptrdiff_t stride_bytes);
layout_t layout_indexed(layout_t inner, int count, const int *lengths, const int *places);
layout_t layout_resized(layout_t inner, ptrdiff_t lower_bound, ptrdiff_t extent);
/* Rows `first_row` to `first_row + rows - 1` and columns likewise of a row-major matrix. */
layout_t layout_subarray(layout_t inner, const int sizes[2], const int parts[2],
                         const int starts[2]);
/* Two inner layouts behind each other, `gap` bytes between them. */
layout_t layout_struct(layout_t first, layout_t second, size_t gap);

/* Bytes of memory that `count` elements span, from the lowest place (*low_p) on. */
size_t layout_span(const layout_t *layout, int count, ptrdiff_t *low_p);

/* Copies the bytes of `count` elements out of `memory` to `stream`, or back. */
void layout_gather(const layout_t *layout, int count, const unsigned char *memory,
                   unsigned char *stream);
void layout_scatter(const layout_t *layout, int count, unsigned char *memory,
                    const unsigned char *stream);

#endif
