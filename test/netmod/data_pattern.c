/* SPDX-License-Identifier: MIT */
/* data_pattern.c: see data_pattern.h. The mixing step is SplitMix64's finalizer. */
#include "data_pattern.h"

#include <string.h>

static const uint64_t golden = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t word_at(uint64_t key, uint64_t index)
{
    return mix(key + (index + 1) * golden);
}

uint64_t random_next(random_t *random)
{
    random->state += golden;
    return mix(random->state);
}

uint64_t random_below(random_t *random, uint64_t bound)
{
    return random_next(random) % bound;
}

size_t random_size(random_t *random, size_t bytes_max)
{
    unsigned bits = 0;
    while (bits < 62 && ((size_t) 1 << bits) <= bytes_max)
        bits++;
    uint64_t magnitude = random_below(random, bits + 1);
    if (magnitude == 0)
        return 0;
    uint64_t least = (uint64_t) 1 << (magnitude - 1);
    size_t bytes = (size_t) (least + random_below(random, least));
    return bytes < bytes_max ? bytes : bytes_max;
}

void random_order(random_t *random, int *order, int count)
{
    for (int i = 0; i < count; i++) {
        int j = (int) random_below(random, (uint64_t) i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

uint64_t pattern_key(uint64_t seed, int source, int dest, int tag, uint64_t index)
{
    uint64_t key = mix(seed + golden);
    key = mix(key ^ ((uint64_t) (uint32_t) source << 32 | (uint32_t) dest));
    key = mix(key + (uint64_t) (uint32_t) tag);
    return mix(key + index * golden);
}

void pattern_fill(void *data, size_t bytes, uint64_t key)
{
    unsigned char *at = data;
    uint64_t index = 0;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word = word_at(key, index++);
        memcpy(at, &word, sizeof(word));
    }
    if (bytes > 0) {
        uint64_t word = word_at(key, index);
        memcpy(at, &word, bytes);
    }
}

unsigned char pattern_byte(uint64_t key, size_t offset)
{
    unsigned char part[sizeof(uint64_t)];
    uint64_t word = word_at(key, offset / sizeof(word));
    memcpy(part, &word, sizeof(word));
    return part[offset % sizeof(word)];
}

size_t pattern_verify(const void *data, size_t bytes, uint64_t key)
{
    const unsigned char *at = data;
    size_t whole = bytes - bytes % sizeof(uint64_t);
    size_t offset = 0;
    for (; offset < whole; offset += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at + offset, sizeof(word));
        if (word != word_at(key, offset / sizeof(word)))
            break;
    }
    while (offset < bytes && at[offset] == pattern_byte(key, offset))
        offset++;
    return offset;
}
