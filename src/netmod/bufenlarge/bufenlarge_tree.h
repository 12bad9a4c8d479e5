/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_tree.h: a binomial tree over the ranks, rooted at 0. A rank without its lowest bit is the parent of the
 * rank; collective operations of MPI connect the same pairs. No process has more children than the job's size has bits.
 *
 *          0
 *     /  /   \
 *    1  2     4
 *       |    / \
 *       3   5   6
 *               |
 *               7
 *
 * It uses nothing of MPICH: test/unit/netmod includes it.
 */
#ifndef BUFENLARGE_TREE_H_INCLUDED
#define BUFENLARGE_TREE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* Of a rank above 0. */
static inline uint32_t MPIDI_BUFENLARGE_tree_parent(uint32_t rank)
{
    return rank & (rank - 1);
}

static inline bool MPIDI_BUFENLARGE_tree_is_child(uint32_t parent, uint32_t rank)
{
    return rank != 0 && MPIDI_BUFENLARGE_tree_parent(rank) == parent;
}

/* Returns the number of children, which is also the height of the tree below the rank where the job's size is a power
 * of two, and no less than that otherwise. Child number i is `rank` + 2^i. */
static inline uint32_t MPIDI_BUFENLARGE_tree_children(uint32_t rank, uint32_t size)
{
    uint32_t count = 0;
    while ((rank >> count & 1) == 0 && count < 31 && (uint64_t) rank + (UINT64_C(1) << count) < size)
        count++;
    return count;
}

/* Returns the number of the first rank behind those below `rank`, itself included, all of which follow each other. */
static inline uint32_t MPIDI_BUFENLARGE_tree_end(uint32_t rank, uint32_t size)
{
    const uint64_t end = (uint64_t) rank + (rank & (~rank + 1));
    return rank == 0 || end > size ? size : (uint32_t) end;
}

#endif /* BUFENLARGE_TREE_H_INCLUDED */
