/* SPDX-License-Identifier: MIT */
/* layout.c: see layout.h. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* Appends the blocks of `inner`, moved by `offset`; `layout` has room. */
static void append(layout_t *layout, const layout_t *inner, ptrdiff_t offset)
{
    for (size_t i = 0; i < inner->count; i++) {
        block_t block = { inner->blocks[i].offset + offset, inner->blocks[i].bytes };
        block_t *last = layout->count > 0 ? &layout->blocks[layout->count - 1] : NULL;
        if (last && last->offset + (ptrdiff_t) last->bytes == block.offset)
            last->bytes += block.bytes;
        else
            layout->blocks[layout->count++] = block;
        layout->bytes += block.bytes;
    }
}

static layout_t with_room(size_t blocks)
{
    layout_t layout = { .type = MPI_DATATYPE_NULL };
    layout.blocks = checked(malloc((blocks + 1) * sizeof(*layout.blocks)));
    return layout;
}

/* Lower bound and extent over all places of an inner layout, as MPI defines them. */
static void set_bounds(layout_t *layout, const layout_t *inner, ptrdiff_t lowest,
                       ptrdiff_t highest)
{
    layout->lower_bound = lowest + inner->lower_bound;
    layout->extent = highest - lowest + inner->extent;
}

static layout_t finish(layout_t layout, layout_t *inner)
{
    MPI_Type_commit(&layout.type);
    layout_destroy(inner);
    return layout;
}

layout_t layout_of_basic(MPI_Datatype type)
{
    int bytes;
    layout_t layout = with_room(1);
    MPI_Type_size(type, &bytes);
    MPI_Type_dup(type, &layout.type);
    MPI_Type_commit(&layout.type);
    layout.blocks[0] = (block_t) { 0, (size_t) bytes };
    layout.count = 1;
    layout.bytes = (size_t) bytes;
    layout.extent = bytes;
    return layout;
}

void layout_destroy(layout_t *layout)
{
    if (layout->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&layout->type);
    free(layout->blocks);
    layout->blocks = NULL;
}

layout_t layout_contiguous(layout_t inner, int count)
{
    layout_t layout = with_room(inner.count * (size_t) count);
    for (int i = 0; i < count; i++)
        append(&layout, &inner, i * inner.extent);
    set_bounds(&layout, &inner, 0, (count - 1) * inner.extent);
    MPI_Type_contiguous(count, inner.type, &layout.type);
    return finish(layout, &inner);
}

static layout_t places_of_vector(const layout_t *inner, int count, int block, ptrdiff_t stride)
{
    layout_t layout = with_room(inner->count * (size_t) count * (size_t) block);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < block; j++)
            append(&layout, inner, i * stride + j * inner->extent);
    }
    ptrdiff_t last = (count - 1) * stride; /* negative when the stride is */
    set_bounds(&layout, inner, last < 0 ? last : 0,
               (last > 0 ? last : 0) + (block - 1) * inner->extent);
    return layout;
}

layout_t layout_vector(layout_t inner, int count, int block, int stride)
{
    layout_t layout = places_of_vector(&inner, count, block, stride * inner.extent);
    MPI_Type_vector(count, block, stride, inner.type, &layout.type);
    return finish(layout, &inner);
}

layout_t layout_hvector(layout_t inner, int count, int block, ptrdiff_t stride_bytes)
{
    layout_t layout = places_of_vector(&inner, count, block, stride_bytes);
    MPI_Type_create_hvector(count, block, stride_bytes, inner.type, &layout.type);
    return finish(layout, &inner);
}

layout_t layout_indexed(layout_t inner, int count, const int *lengths, const int *places)
{
    size_t elements = 0;
    ptrdiff_t lowest = PTRDIFF_MAX, highest = PTRDIFF_MIN;
    for (int i = 0; i < count; i++)
        elements += (size_t) lengths[i];
    layout_t layout = with_room(inner.count * elements);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < lengths[i]; j++) {
            ptrdiff_t place = (places[i] + j) * inner.extent;
            append(&layout, &inner, place);
            lowest = place < lowest ? place : lowest;
            highest = place > highest ? place : highest;
        }
    }
    set_bounds(&layout, &inner, lowest, highest);
    MPI_Type_indexed(count, lengths, places, inner.type, &layout.type);
    return finish(layout, &inner);
}

layout_t layout_resized(layout_t inner, ptrdiff_t lower_bound, ptrdiff_t extent)
{
    layout_t layout = with_room(inner.count);
    append(&layout, &inner, 0);
    layout.lower_bound = lower_bound;
    layout.extent = extent;
    MPI_Type_create_resized(inner.type, lower_bound, extent, &layout.type);
    return finish(layout, &inner);
}

layout_t layout_subarray(layout_t inner, const int sizes[2], const int parts[2],
                         const int starts[2])
{
    layout_t layout = with_room(inner.count * (size_t) parts[0] * (size_t) parts[1]);
    for (int i = 0; i < parts[0]; i++) {
        for (int j = 0; j < parts[1]; j++) {
            ptrdiff_t place = (ptrdiff_t) (starts[0] + i) * sizes[1] + starts[1] + j;
            append(&layout, &inner, place * inner.extent);
        }
    }
    layout.extent = (ptrdiff_t) sizes[0] * sizes[1] * inner.extent; /* the whole matrix */
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, inner.type, &layout.type);
    return finish(layout, &inner);
}

layout_t layout_struct(layout_t first, layout_t second, size_t gap)
{
    ptrdiff_t behind = first.lower_bound + first.extent + (ptrdiff_t) gap;
    ptrdiff_t place = behind - second.lower_bound;
    int lengths[2] = { 1, 1 };
    MPI_Aint places[2] = { 0, place };
    MPI_Datatype types[2] = { first.type, second.type }, plain;
    layout_t layout = with_room(first.count + second.count);
    append(&layout, &first, 0);
    append(&layout, &second, place);
    layout.lower_bound = first.lower_bound;
    layout.extent = behind + second.extent - first.lower_bound;
    MPI_Type_create_struct(2, lengths, places, types, &plain);
    /* A struct's extent may be rounded up for alignment; here it is to be what is written above. */
    MPI_Type_create_resized(plain, layout.lower_bound, layout.extent, &layout.type);
    MPI_Type_free(&plain);
    layout_destroy(&second);
    return finish(layout, &first);
}

size_t layout_span(const layout_t *layout, int count, ptrdiff_t *low_p)
{
    ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
    for (size_t i = 0; i < layout->count; i++) {
        ptrdiff_t begin = layout->blocks[i].offset;
        ptrdiff_t end = begin + (ptrdiff_t) layout->blocks[i].bytes;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    ptrdiff_t shift = (count - 1) * layout->extent; /* may be negative */
    *low_p = shift < 0 ? low + shift : low;
    return (size_t) ((shift > 0 ? high + shift : high) - *low_p);
}

void layout_gather(const layout_t *layout, int count, const unsigned char *memory,
                   unsigned char *stream)
{
    for (int i = 0; i < count; i++) {
        for (size_t j = 0; j < layout->count; j++) {
            const block_t *block = &layout->blocks[j];
            memcpy(stream, memory + i * layout->extent + block->offset, block->bytes);
            stream += block->bytes;
        }
    }
}

void layout_scatter(const layout_t *layout, int count, unsigned char *memory,
                    const unsigned char *stream)
{
    for (int i = 0; i < count; i++) {
        for (size_t j = 0; j < layout->count; j++) {
            const block_t *block = &layout->blocks[j];
            memcpy(memory + i * layout->extent + block->offset, stream, block->bytes);
            stream += block->bytes;
        }
    }
}
