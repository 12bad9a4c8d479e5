/* SPDX-License-Identifier: MIT */
/* Sends data from and to memory of a GPU in all the ways that the netmod has for data on the host: 0 bytes to 4 MiB,
 * with host memory on one side, on both or on none; expected, unexpected and synchronous; with gaps; by collective
 * operations; and from and to windows. Two processes; process 0 prints "right" when all is.
 * staged touch: writes to memory of the device itself, which must not end well. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "data_pattern.h"

enum { kLargest = 4 << 20, kBlock = 24, kStride = 40 };

static int rank, wrong;
static char *shown; /* a copy of what is on the device */

static const int sizes[] = {0, 1, 8, 200, 1000, 8000, 16384, 65536, 1 << 20, kLargest};
enum { kSizes = sizeof sizes / sizeof sizes[0] };

static char *allocate(int on_device)
{
    void *memory = NULL;
    if (!on_device)
        memory = malloc(kLargest);
    else if (cudaMalloc(&memory, kLargest) != cudaSuccess)
        memory = NULL;
    if (memory == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static void release(char *memory, int on_device)
{
    if (on_device)
        cudaFree(memory);
    else
        free(memory);
}

static void fill(char *buffer, int bytes, int key)
{
    pattern_fill(shown, (size_t) bytes, (uint64_t) key);
    cudaMemcpy(buffer, shown, (size_t) bytes, cudaMemcpyDefault);
}

static void say_wrong(const char *what, int bytes, size_t at)
{
    printf("%s: of %d bytes byte %d is wrong\n", what, bytes, (int) at);
    wrong++;
}

static void check(const char *what, const char *buffer, int bytes, int key)
{
    cudaMemcpy(shown, buffer, (size_t) bytes, cudaMemcpyDefault);
    const size_t right = pattern_verify(shown, (size_t) bytes, (uint64_t) key);
    if (right < (size_t) bytes)
        say_wrong(what, bytes, right);
}

/* Of each kStride bytes the first kBlock must have the key's bytes, and the others those of the other key. */
static void check_gaps(const char *what, const char *buffer, int bytes, int key, int other)
{
    cudaMemcpy(shown, buffer, (size_t) bytes, cudaMemcpyDefault);
    for (size_t i = 0; i < (size_t) bytes; i++) {
        if ((unsigned char) shown[i] != pattern_byte((uint64_t) (i % kStride < kBlock ? key : other), i)) {
            say_wrong(what, bytes, i);
            return;
        }
    }
}

static void send_one(const char *from, int count, MPI_Datatype type, int synchronous, int late)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (synchronous)
        MPI_Issend(from, count, type, 1, 1, MPI_COMM_WORLD, &request);
    else
        MPI_Isend(from, count, type, 1, 1, MPI_COMM_WORLD, &request);
    if (late)
        MPI_Send(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Late: after the message, or the first part of it, has come. */
static void receive_one(char *to, int count, MPI_Datatype type, int late)
{
    MPI_Request request;
    if (late) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(to, count, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(to, count, type, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void messages(char *buffer, int synchronous, int late)
{
    for (int i = 0; i < kSizes; i++) {
        fill(buffer, sizes[i], rank == 0 ? i : -1);
        if (rank == 0)
            send_one(buffer, sizes[i], MPI_CHAR, synchronous, late);
        else
            receive_one(buffer, sizes[i], MPI_CHAR, late);
        check("message", buffer, sizes[i], i);
    }
}

/* Blocks with gaps between them, which the receiver must not write. */
static void messages_with_gaps(char *buffer, int late)
{
    MPI_Datatype block, type;
    MPI_Type_contiguous(kBlock, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, kStride, &type);
    MPI_Type_commit(&type);
    for (int count = 1; count <= kLargest / kStride; count *= 7) {
        fill(buffer, count * kStride, rank == 0 ? 1 : 2);
        if (rank == 0)
            send_one(buffer, count, type, 0, late);
        else
            receive_one(buffer, count, type, late);
        check_gaps("message with gaps", buffer, count * kStride, 1, rank == 0 ? 1 : 2);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&type);
}

static void collectives(char *buffer, char *other)
{
    for (int i = 0; i < kSizes; i++) {
        fill(buffer, sizes[i], rank);
        MPI_Bcast(buffer, sizes[i], MPI_CHAR, 0, MPI_COMM_WORLD);
        check("MPI_Bcast", buffer, sizes[i], 0);
        fill(buffer, sizes[i], 3);
        fill(other, sizes[i], 4);
        MPI_Allreduce(buffer, other, sizes[i], MPI_CHAR, MPI_BXOR, MPI_COMM_WORLD);
        cudaMemcpy(shown, other, (size_t) sizes[i], cudaMemcpyDefault);
        for (int j = 0; j < sizes[i]; j++)
            if (shown[j] != 0) {
                say_wrong("MPI_Allreduce", sizes[i], (size_t) j);
                break;
            }
    }
}

/* Process 0 puts, gets and accumulates; the window is that of process 1. */
static void one_sided(char *buffer, char *base)
{
    MPI_Win win;
    MPI_Win_create(base, kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < kSizes; i++) {
        fill(base, sizes[i], -1);
        fill(buffer, sizes[i], i);
        MPI_Win_fence(0, win);
        if (rank == 0)
            MPI_Put(buffer, sizes[i], MPI_CHAR, 1, 0, sizes[i], MPI_CHAR, win);
        MPI_Win_fence(0, win);
        check("MPI_Put", base, sizes[i], rank == 1 ? i : -1);
        if (rank == 0) {
            fill(buffer, sizes[i], -2);
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            MPI_Get(buffer, sizes[i], MPI_CHAR, 1, 0, sizes[i], MPI_CHAR, win);
            MPI_Win_unlock(1, win);
            check("MPI_Get", buffer, sizes[i], i);
        }
        MPI_Win_fence(0, win);
        fill(base, sizes[i], -3);
        MPI_Win_fence(0, win);
        if (rank == 0)
            MPI_Accumulate(buffer, sizes[i], MPI_CHAR, 1, 0, sizes[i], MPI_CHAR, MPI_REPLACE, win);
        MPI_Win_fence(0, win);
        check("MPI_Accumulate", base, sizes[i], rank == 1 ? i : -3);
    }
    MPI_Win_free(&win);
}

/* All of it, with the memory of process 0 and of process 1 on the device or not. */
static void everything(int first_on_device, int second_on_device)
{
    const int on_device = rank == 0 ? first_on_device : second_on_device;
    char *const buffer = allocate(on_device), *const other = allocate(on_device);
    for (int late = 0; late < 2; late++) {
        messages(buffer, 0, late);
        messages(buffer, 1, late);
        messages_with_gaps(buffer, late);
    }
    collectives(buffer, other);
    one_sided(buffer, other);
    release(buffer, on_device);
    release(other, on_device);
}

int main(int argc, char **argv)
{
    int all_wrong;
    if (argc > 1) {
        *allocate(1) = 1;
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shown = allocate(0);
    for (int which = 0; which < 4; which++)
        everything(which & 1, which >> 1);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0)
        puts("right");
    release(shown, 0);
    MPI_Finalize();
    return all_wrong != 0;
}
