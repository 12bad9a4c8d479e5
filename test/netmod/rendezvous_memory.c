/* SPDX-License-Identifier: MIT */
/*
 * rendezvous_memory.c: large messages out of and into memory of every kind, and what programs do with it between two
 * messages and during one: freed and allocated again, unmapped and mapped at the same address, moved, read-only,
 * shared with the child of a fork. A registration that is looked up by address alone fails here. Each rank sends to its
 * right neighbor.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { TAG = 41, ROUNDS = 12, LARGE = 3 << 20 };

static int left, right;
static uint64_t turn; /* no message can pass with the data of another */

static uint64_t key_of(int source, int dest)
{
    return pattern_key(test_options.seed, source, dest, TAG, turn);
}

static void nothing(void) {}

/* Fills and sends out, receives and checks in; `during` is called while both are under way. Without `fill` out has
 * the data of the turn already. */
static void exchange(unsigned char *out, unsigned char *in, size_t bytes, int fill, void (*during)(void))
{
    MPI_Request requests[2];
    if (fill)
        pattern_fill(out, bytes, key_of(test_rank, right));
    MPI_Irecv(in, (int) bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int) bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    during();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    size_t wrong = pattern_verify(in, bytes, key_of(left, test_rank));
    if (wrong < bytes)
        FAIL("turn %llu: byte %zu of %zu: expected 0x%02x, got 0x%02x", (unsigned long long) turn, wrong, bytes,
             pattern_byte(key_of(left, test_rank), wrong), in[wrong]);
    turn++;
}

/* `at`: the address wanted, NULL for any. */
static unsigned char *map(void *at, size_t bytes)
{
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    if (memory == MAP_FAILED)
        FAIL("mmap of %zu bytes failed", bytes);
    return memory;
}

/* ---- between messages ----------------------------------------------------------------------- */

/* Sizes differ, so that an address comes back as a part of another block of memory. */
static void check_allocated_again(void)
{
    const size_t sizes[] = { LARGE, 70000, LARGE / 2 + 1, 200000 };
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = sizes[round % 4];
        unsigned char *out = guarded_alloc(bytes), *in = guarded_alloc(bytes);
        exchange(out, in, bytes, 1, nothing);
        guarded_free(out);
        guarded_free(in);
    }
}

/* The same addresses with other pages behind them. */
static void check_mapped_again(void)
{
    unsigned char *out = map(NULL, LARGE), *in = map(NULL, LARGE);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(out, in, LARGE, 1, nothing);
        munmap(out, LARGE);
        munmap(in, LARGE);
        map(out, LARGE);
        map(in, LARGE);
    }
    /* Pages put over the old ones without unmapping, and source and destination changing places. */
    for (int round = 0; round < ROUNDS; round++) {
        map(out, LARGE / 2);
        map(in + LARGE / 2, LARGE / 2);
        exchange(round % 2 ? out : in, round % 2 ? in : out, LARGE, 1, nothing);
    }
    munmap(out, LARGE);
    munmap(in, LARGE);
}

/* Grown until it has to move, with its data, and others put at its old address. */
static void check_moved(void)
{
    size_t bytes = 1 << 20;
    unsigned char *out = map(NULL, bytes), *in = map(NULL, bytes);
    for (int round = 0; round < 6; round++) {
        pattern_fill(out, bytes, key_of(test_rank, right));
        exchange(out, in, bytes, 0, nothing);
        unsigned char *target = map(NULL, 2 * bytes), *old = out;
        out = mremap(out, bytes, 2 * bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
        if (out == MAP_FAILED)
            FAIL("mremap failed");
        map(old, bytes);
        memset(old, 0x11, bytes);
        munmap(in, bytes);
        in = map(NULL, 2 * bytes);
        exchange(out, in, bytes + 5, 1, nothing);
        munmap(old, bytes);
        bytes *= 2;
    }
    munmap(out, bytes);
    munmap(in, bytes);
}

/* ---- kinds of memory ------------------------------------------------------------------------ */

static void check_read_only(void)
{
    unsigned char *out = map(NULL, LARGE), *in = guarded_alloc(LARGE);
    pattern_fill(out, LARGE, key_of(test_rank, right));
    if (mprotect(out, LARGE, PROT_READ) != 0)
        FAIL("mprotect failed");
    exchange(out, in, LARGE, 0, nothing);
    munmap(out, LARGE);
    FILE *file = tmpfile();
    unsigned char *data = pattern_alloc(LARGE, key_of(test_rank, right));
    if (!file || fwrite(data, 1, LARGE, file) != LARGE || fflush(file) != 0)
        FAIL("no temporary file");
    for (int shared = 0; shared < 2; shared++) {
        out = mmap(NULL, LARGE, PROT_READ, shared ? MAP_SHARED : MAP_PRIVATE, fileno(file), 0);
        if (out == MAP_FAILED)
            FAIL("mmap of a file failed");
        exchange(out, in, LARGE, 0, nothing);
        turn--; /* the file has the data of this turn */
        munmap(out, LARGE);
    }
    turn++;
    fclose(file);
    guarded_free(data);
    guarded_free(in);
}

/* Odd addresses, static memory and the stack; source and destination next to each other in a page. */
static void check_places(void)
{
    static unsigned char fixed[2 * 300000 + 64];
    unsigned char local[2 * 70000 + 64];
    for (int shift = 0; shift < 9; shift++) {
        exchange(fixed + shift, fixed + shift + 300000, 300000, 1, nothing);
        exchange(local + shift + 70000, local + shift, 70000, 1, nothing);
    }
}

/* ---- fork ----------------------------------------------------------------------------------- */

static pid_t child;
static int let_go[2]; /* the child reads; it goes on when the other end is closed */

static void fork_that_ends(void)
{
    child = fork();
    if (child == 0)
        _exit(0);
}

static void fork_that_executes(void)
{
    if (pipe(let_go) != 0)
        FAIL("pipe failed");
    child = fork();
    if (child != 0)
        return;
    char byte;
    close(let_go[1]);
    if (read(let_go[0], &byte, 1) == 0)
        execl("/bin/sh", "sh", "-c", "exit 7", (char *) NULL);
    _exit(1);
}

static void await_child(int expected)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        FAIL("the child did not end by itself");
    EXPECT_EQUAL("exit status of the child", expected, WEXITSTATUS(status));
}

static void check_fork(void)
{
    for (int round = 0; round < 4; round++) {
        unsigned char *out = guarded_alloc(LARGE), *in = guarded_alloc(LARGE);
        exchange(out, in, LARGE, 1, fork_that_ends);
        await_child(0);
        exchange(out, in, LARGE, 1, nothing);
        /* The child has the memory while the messages come that were under way, and three more. */
        exchange(out, in, LARGE, 1, fork_that_executes);
        for (int i = 0; i < 3; i++)
            exchange(out, in, LARGE, 1, nothing);
        close(let_go[0]);
        close(let_go[1]);
        exchange(out, in, LARGE, 1, nothing);
        await_child(7);
        exchange(out, in, LARGE, 1, nothing);
        guarded_free(out);
        guarded_free(in);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, (test_options_t) { .seed = 1 });
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    check_allocated_again();
    check_mapped_again();
    check_moved();
    check_read_only();
    check_places();
    check_fork();
    return test_end();
}
