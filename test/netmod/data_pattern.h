/* SPDX-License-Identifier: MIT */
/*
 * data_pattern.h: the bytes a message must carry, as a function of who sends it to whom.
 *
 * A key is made of seed, source, destination, tag and index; the bytes are the key's own stream
 * of 64-bit words. Two messages with different keys differ in nearly every byte, so that data of
 * the wrong message, of the wrong place or of an old slot is seen.
 */
#ifndef DATA_PATTERN_H_INCLUDED
#define DATA_PATTERN_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

/* Random numbers for plans and sizes: the same seed gives the same sequence everywhere. */
typedef struct {
    uint64_t state;
} random_t;

uint64_t random_next(random_t *random);

/* A number from 0 to bound - 1; bound must not be 0. */
uint64_t random_below(random_t *random, uint64_t bound);

/* A size from 0 to bytes_max, every power of two as likely as the next. */
size_t random_size(random_t *random, size_t bytes_max);

/* Fills order[0 .. count-1] with the numbers 0 .. count-1 in random order. */
void random_order(random_t *random, int *order, int count);

uint64_t pattern_key(uint64_t seed, int source, int dest, int tag, uint64_t index);

void pattern_fill(void *data, size_t bytes, uint64_t key);

/* The one byte at `offset` of the key's stream. */
unsigned char pattern_byte(uint64_t key, size_t offset);

/* Compares every byte. The offset of the first wrong one, or `bytes` when all are right. */
size_t pattern_verify(const void *data, size_t bytes, uint64_t key);

#endif
