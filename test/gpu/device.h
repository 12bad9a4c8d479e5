/* SPDX-License-Identifier: MIT */
/*
 * device.h: a stand-in for a GPU, behind the functions of the CUDA runtime that MPICH and yaksa call.
 *
 * Device memory is a file in memory that is mapped twice. What cudaMalloc() returns is a mapping that may be neither
 * read nor written, so a process that touches device memory itself, or has the kernel do it, fails at once. The
 * stand-in copies by the other mapping, and runs the kernels of yaksa on it, one thread after another.
 */
#ifndef DEVICE_H_INCLUDED
#define DEVICE_H_INCLUDED

#include <cuda_runtime.h>

/* Which thread of a kernel runs. */
struct device_place_t {
    uint3 thread, block;
    dim3 threads, blocks;
};
extern thread_local device_place_t device_place;

/* What a kernel's source calls them. */
#define threadIdx device_place.thread
#define blockIdx device_place.block
#define blockDim device_place.threads
#define gridDim device_place.blocks

/* What a kernel's thread has written is seen by all at once. */
inline void __threadfence_system() {}

#endif
