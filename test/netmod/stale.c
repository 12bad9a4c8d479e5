/* SPDX-License-Identifier: MIT */
/*
 * stale.c: random rounds of what programs do with memory between and during messages: allocated and freed, mapped and
 * unmapped, mapped over, moved, dropped, shared with a child. A registration that is used after the mapping of its
 * memory has changed sends old data, or leaves new data where nobody looks. Each rank sends to its right neighbor out
 * of a part of one of its blocks, into a part of one of the neighbor's; with threads=N each of N threads does so, with
 * blocks of its own, while the others' memory changes. Some messages go by persistent requests, which live on for some
 * time when their memory is another's. Arguments: seed, rounds, threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { TAG = 43, BLOCKS = 12, PAGE = 4096, BLOCK_PAGES_MAX = 160, MESSAGE_MIN = 1024, THREADS_MAX = 8,
    OLD = 32 };
enum kind { EMPTY, ALLOCATED, MAPPED, OF_MPI };

struct block {
    enum kind kind;
    unsigned char *at;
    size_t bytes;
};

static _Thread_local struct block blocks[BLOCKS];
static _Thread_local uint64_t own_state, common_state; /* of chance: different, and the same on all ranks */
static _Thread_local int tag;                          /* of this thread's messages */
static _Thread_local MPI_Request old[OLD];             /* inactive, or MPI_REQUEST_NULL */
static MPI_Info network;

static uint64_t draw(uint64_t *state, uint64_t bound)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
}

static size_t own(size_t bound)
{
    return (size_t) draw(&own_state, bound);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static unsigned char *map(void *at, size_t bytes)
{
    int fixed = at ? MAP_FIXED : 0;
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (memory == MAP_FAILED)
        FAIL("mmap of %zu bytes failed", bytes);
    return memory;
}

static void make(struct block *block)
{
    block->bytes = PAGE * (1 + own(BLOCK_PAGES_MAX));
    block->kind = (enum kind) (ALLOCATED + own(3));
    if (block->kind == MAPPED) {
        block->at = map(NULL, block->bytes);
    } else if (block->kind == ALLOCATED) {
        block->bytes -= own(PAGE - MESSAGE_MIN);
        block->at = malloc(block->bytes);
    } else {
        MPI_Alloc_mem((MPI_Aint) block->bytes, own(4) ? network : MPI_INFO_NULL, &block->at);
    }
    if (block->at == NULL)
        FAIL("no memory for %zu bytes", block->bytes);
}

static void end(struct block *block)
{
    if (block->kind == MAPPED)
        munmap(block->at, block->bytes);
    else if (block->kind == ALLOCATED)
        free(block->at);
    else
        MPI_Free_mem(block->at);
    block->kind = EMPTY;
}

/* ---- what happens to them ------------------------------------------------------------------- */

static void map_over(struct block *block)
{
    size_t pages = block->bytes / PAGE, first = own(pages);
    map(block->at + first * PAGE, (1 + own(pages - first)) * PAGE);
}

/* Other pages come to where some were, unless another thread has its own there by now. */
static void use_again(unsigned char *at, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    unsigned char *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return;
    memset(memory, 0x11, bytes);
    munmap(memory, bytes);
}

/* Other pages come to where they were. What was mapped over is more than one mapping to the kernel, which does not move
 * it: it is replaced. */
static void move(struct block *block)
{
    size_t bytes = PAGE * (1 + own(BLOCK_PAGES_MAX));
    unsigned char *old = block->at;
    int fixed = own(2) != 0;
    void *to = fixed ? map(NULL, bytes) : NULL;
    block->at = mremap(old, block->bytes, bytes, MREMAP_MAYMOVE | (fixed ? MREMAP_FIXED : 0), to);
    if (block->at == MAP_FAILED && errno == EFAULT) {
        munmap(old, block->bytes);
        if (fixed)
            munmap(to, bytes);
        block->at = map(NULL, bytes);
        block->bytes = bytes;
        return;
    }
    if (block->at == MAP_FAILED)
        FAIL("mremap of %zu to %zu bytes failed: %s", block->bytes, bytes, strerror(errno));
    if (block->at != old && own(2))
        use_again(old, block->bytes);
    block->bytes = bytes;
}

static void drop(struct block *block)
{
    size_t pages = block->bytes / PAGE, first = own(pages);
    int advice = own(2) ? MADV_DONTNEED : MADV_FREE;
    if (madvise(block->at + first * PAGE, (1 + own(pages - first)) * PAGE, advice) != 0)
        FAIL("madvise failed");
}

static void resize(struct block *block)
{
    block->bytes = PAGE * (1 + own(BLOCK_PAGES_MAX));
    block->at = realloc(block->at, block->bytes);
    if (block->at == NULL)
        FAIL("realloc of %zu bytes failed", block->bytes);
}

/* Small blocks of an arena, given back so that the end of the heap moves. */
static void trim(void)
{
    enum { COUNT = 64 };
    void *small[COUNT];
    for (int i = 0; i < COUNT; i++)
        if ((small[i] = malloc(20000)) != NULL)
            memset(small[i], 0x22, 20000);
    for (int i = 0; i < COUNT; i++)
        free(small[(i * 7) % COUNT]);
    malloc_trim(0);
}

static void change_one(void)
{
    struct block *block = &blocks[own(BLOCKS)];
    const size_t what = own(8);
    if (block->kind == EMPTY)
        make(block);
    else if (what < 3)
        end(block);
    else if (block->kind == ALLOCATED && what < 6)
        resize(block);
    else if (block->kind == MAPPED && what == 3)
        map_over(block);
    else if (block->kind == MAPPED && what == 4)
        move(block);
    else if (block->kind == MAPPED && what < 8)
        drop(block);
    else if (what == 7)
        trim();
}

/* ---- messages ------------------------------------------------------------------------------- */

/* A part of some block that is not `other`. */
static unsigned char *choose(size_t bytes, const struct block *other, struct block **block_p)
{
    for (;;) {
        struct block *block = &blocks[own(BLOCKS)];
        if (block == other)
            continue;
        if (block->kind == EMPTY)
            make(block);
        if (block->bytes >= bytes) {
            *block_p = block;
            return block->at + (own(3) ? 0 : own(block->bytes - bytes + 1));
        }
        end(block);
    }
}

/* Copies of all pages, as long as it lives; it changes its own, or becomes another program. */
static pid_t begin_child(unsigned char *memory, size_t bytes)
{
    const int becomes_another = own(2) != 0;
    pid_t child = fork();
    if (child < 0)
        FAIL("fork failed");
    if (child == 0) {
        memset(memory, 0x33, bytes);
        if (becomes_another)
            execl("/bin/true", "true", (char *) NULL);
        usleep(2000);
        _exit(becomes_another);
    }
    return child;
}

static void await(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the child did not end by itself");
}

/* The request is inactive and takes the place of another, which ends. */
static void grow_old(MPI_Request request)
{
    MPI_Request *place = &old[own(OLD)];
    if (*place != MPI_REQUEST_NULL)
        MPI_Request_free(place);
    *place = request;
}

static void begin_messages(unsigned char *in, int left, unsigned char *out, int right, size_t bytes, int persistent,
                           MPI_Request requests[2])
{
    if (persistent) {
        MPI_Recv_init(in, (int) bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(out, (int) bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Startall(2, requests);
    } else {
        MPI_Irecv(in, (int) bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int) bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD, &requests[1]);
    }
}

static void exchange(long round)
{
    const int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    const size_t large = 1 + draw(&common_state, BLOCK_PAGES_MAX);
    const size_t bytes = MESSAGE_MIN + draw(&common_state, large * (PAGE - MESSAGE_MIN));
    const uint64_t out_key = pattern_key(test_options.seed, test_rank, right, tag, (uint64_t) round);
    const uint64_t in_key = pattern_key(test_options.seed, left, test_rank, tag, (uint64_t) round);
    struct block *from, *to;
    unsigned char *out = choose(bytes, NULL, &from), *in = choose(bytes, from, &to);
    const pid_t child = own(250) == 0 ? begin_child(from->at, from->bytes) : 0;
    const int persistent = own(4) == 0;
    MPI_Request requests[2];
    pattern_fill(out, bytes, out_key);
    if (own(2))
        memset(in, 0x44, bytes);
    begin_messages(in, left, out, right, bytes, persistent, requests);
    if (own(8) == 0)
        trim();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; persistent && i < 2; i++)
        grow_old(requests[i]);
    const size_t wrong = pattern_verify(in, bytes, in_key);
    if (wrong < bytes)
        FAIL("round %ld: byte %zu of %zu: expected 0x%02x, got 0x%02x", round, wrong, bytes,
             pattern_byte(in_key, wrong), in[wrong]);
    if (child != 0)
        await(child);
}

static void *work(void *number_p)
{
    const int number = *(const int *) number_p;
    tag = TAG + number;
    common_state = test_options.seed + (uint64_t) number * 7919;
    own_state = common_state * 1000003 + (uint64_t) test_rank;
    for (int i = 0; i < OLD; i++)
        old[i] = MPI_REQUEST_NULL;
    for (long round = 0; round < test_options.rounds; round++) {
        for (size_t changes = own(3); changes > 0; changes--)
            change_one();
        exchange(round);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].kind != EMPTY)
            end(&blocks[i]);
    for (int i = 0; i < OLD; i++)
        if (old[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&old[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    int numbers[THREADS_MAX];
    test_begin_threads(argc, argv, (test_options_t) { .seed = 1, .rounds = 10000, .threads = 1 }, MPI_THREAD_MULTIPLE);
    if (test_options.threads < 1 || test_options.threads > THREADS_MAX)
        FAIL("threads=%d: allowed are 1 to %d", test_options.threads, THREADS_MAX);
    MPI_Info_create(&network);
    MPI_Info_set(network, "mpich_buf_type", "network");
    for (int i = 0; i < test_options.threads; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
            FAIL("no thread could be created");
    }
    for (int i = 0; i < test_options.threads; i++)
        pthread_join(threads[i], NULL);
    MPI_Info_free(&network);
    return test_end();
}
