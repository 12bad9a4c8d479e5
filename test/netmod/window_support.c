/* SPDX-License-Identifier: MIT */
/* window_support.c: see window_support.h. */
#include "window_support.h"

#include <stdlib.h>
#include <string.h>

enum { BEHIND = 64 };

static void open_dynamic(window_t *window)
{
    MPI_Aint base;
    window->memory = malloc(window->bytes);
    window->bases = malloc((size_t) test_size * sizeof(*window->bases));
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
    MPI_Win_attach(window->win, window->memory, (MPI_Aint) window->bytes);
    MPI_Get_address(window->memory, &base);
    MPI_Allgather(&base, 1, MPI_AINT, window->bases, 1, MPI_AINT, MPI_COMM_WORLD);
}

window_t window_open(enum window_flavor flavor, size_t bytes)
{
    window_t window = { .flavor = flavor, .bytes = bytes };
    switch (flavor) {
        case WINDOW_CREATE:
            window.memory = malloc(bytes);
            MPI_Win_create(window.memory, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                           &window.win);
            break;
        case WINDOW_ALLOCATE:
            MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory,
                             &window.win);
            break;
        case WINDOW_DYNAMIC:
            open_dynamic(&window);
            break;
        case WINDOW_FLAVORS:
            FAIL("no such flavor of window: %d", (int) flavor);
    }
    memset(window.memory, WINDOW_FILLER, bytes);
    window_settle(&window);
    return window;
}

void window_close(window_t *window)
{
    if (window->flavor == WINDOW_DYNAMIC) {
        MPI_Barrier(MPI_COMM_WORLD); /* after it no process uses the memory */
        MPI_Win_detach(window->win, window->memory);
    }
    MPI_Win_free(&window->win);
    if (window->flavor != WINDOW_ALLOCATE)
        free(window->memory);
    free(window->bases);
}

MPI_Aint window_place(const window_t *window, int rank, size_t offset)
{
    return window->bases ? MPI_Aint_add(window->bases[rank], (MPI_Aint) offset)
                         : (MPI_Aint) offset;
}

void window_settle(const window_t *window)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, window->win);
    MPI_Win_unlock(test_rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

void window_expect(const char *what, const window_t *window, size_t offset, size_t bytes,
                   uint64_t key)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, window->win);
    unsigned char *data = window->memory + offset;
    size_t wrong = pattern_verify(data, bytes, key);
    if (wrong < bytes)
        FAIL("%s: byte %zu of %zu in the window: expected 0x%02x, got 0x%02x", what, wrong, bytes,
             pattern_byte(key, wrong), data[wrong]);
    for (size_t i = bytes; i < bytes + BEHIND; i++) {
        if (data[i] != WINDOW_FILLER)
            FAIL("%s: byte %zu behind %zu bytes in the window was overwritten with 0x%02x", what,
                 i - bytes, bytes, data[i]);
    }
    memset(data, WINDOW_FILLER, bytes + BEHIND);
    MPI_Win_unlock(test_rank, window->win);
}
