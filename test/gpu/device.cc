// SPDX-License-Identifier: MIT
// The stand-in of device.h. One device, whose streams and events are done when they are made.
#include "device.h"

#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

thread_local device_place_t device_place;

namespace {

struct Memory {
  char* to_device;  // the mapping that may not be touched
  char* to_host;    // the stand-in's own
  size_t bytes;
};

std::mutex lock;
std::map<const char*, Memory> memories;  // by to_device

// The memory that holds the address, or null.
const Memory* memory_at(const void* address) {
  const std::lock_guard held(lock);
  const auto* at = static_cast<const char*>(address);
  const auto behind = memories.upper_bound(at);
  if (behind == memories.begin()) {
    return nullptr;
  }
  const Memory& memory = std::prev(behind)->second;
  return at < memory.to_device + memory.bytes ? &memory : nullptr;
}

// Where the stand-in finds what lies at the address, on the device or not.
template <typename T>
T* reachable(T* address) {
  const Memory* memory = memory_at(address);
  return memory == nullptr ? address : memory->to_host + (static_cast<const char*>(address) - memory->to_device);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, size_t bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t whole = (bytes / page + 1) * page;
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(whole)) != 0) {
    return cudaErrorMemoryAllocation;
  }
  void* to_device = mmap(nullptr, whole, PROT_NONE, MAP_SHARED, file, 0);
  void* to_host = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (to_device == MAP_FAILED || to_host == MAP_FAILED) {
    return cudaErrorMemoryAllocation;
  }
  const std::lock_guard held(lock);
  memories[static_cast<char*>(to_device)] = {static_cast<char*>(to_device), static_cast<char*>(to_host), whole};
  *address = to_device;
  return cudaSuccess;
}

// Memory that host and device share is the host's.
cudaError_t cudaFree(void* address) {
  const std::lock_guard held(lock);
  const auto found = memories.find(static_cast<char*>(address));
  if (found == memories.end()) {
    std::free(address);
    return cudaSuccess;
  }
  munmap(found->second.to_device, found->second.bytes);
  munmap(found->second.to_host, found->second.bytes);
  memories.erase(found);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind) {
  std::memmove(reachable(to), reachable(from), bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* address) {
  const bool on_device = memory_at(address) != nullptr;
  *attributes = {};
  attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = on_device ? 0 : cudaInvalidDeviceId;
  return cudaSuccess;
}

CUresult cuMemGetAddressRange(CUdeviceptr* first, size_t* bytes, CUdeviceptr address) {
  const Memory* memory = memory_at(reinterpret_cast<const void*>(address));
  if (memory == nullptr) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *first = reinterpret_cast<CUdeviceptr>(memory->to_device);
  *bytes = memory->bytes;
  return CUDA_SUCCESS;
}

// The name that MPICH's configure looks for; the header makes the other one of it.
#undef cuMemGetAddressRange
CUresult cuMemGetAddressRange(CUdeviceptr* first, size_t* bytes, CUdeviceptr address) {
  return cuMemGetAddressRange_v2(first, bytes, address);
}

// Yaksa's kernels take from, to, count, and a description in memory that host and device share.
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments, size_t, cudaStream_t) {
  using Kernel = void (*)(const void*, void*, uintptr_t, const void*);
  const auto run = reinterpret_cast<Kernel>(const_cast<void*>(kernel));
  const void* from = reachable(*static_cast<const void**>(arguments[0]));
  void* to = reachable(*static_cast<void**>(arguments[1]));
  if (blocks.y != 1 || blocks.z != 1 || threads.y != 1 || threads.z != 1) {
    return cudaErrorInvalidConfiguration;
  }
  device_place = {{}, {}, threads, blocks};
  for (device_place.block.x = 0; device_place.block.x < blocks.x; ++device_place.block.x) {
    for (device_place.thread.x = 0; device_place.thread.x < threads.x; ++device_place.thread.x) {
      run(from, to, *static_cast<uintptr_t*>(arguments[2]), *static_cast<const void**>(arguments[3]));
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** address, size_t bytes) {
  *address = std::malloc(bytes);
  return *address != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned) { return cudaMallocHost(address, bytes); }
cudaError_t cudaFreeHost(void* address) {
  std::free(address);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* argument) {
  function(argument);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t) { return "of the stand-in"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

// Not offered: other processes do not reach device memory.
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorNotSupported; }
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return cudaErrorNotSupported; }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) { return cudaErrorNotSupported; }
cudaError_t cudaIpcCloseMemHandle(void*) { return cudaErrorNotSupported; }
CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
}
