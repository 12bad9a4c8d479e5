// SPDX-License-Identifier: MIT
#include "fabric/memory_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace bufenlarge {

std::size_t MemoryRegion::whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

MemoryRegion::MemoryRegion(fid_domain* domain, std::size_t bytes, std::uint32_t key,
                           bool virtual_addresses, RegistrationCounters& counters) {
  const std::size_t mapped = whole_pages(bytes);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  fid_mr* registration = nullptr;
  const int code = fi_mr_reg(domain, memory, mapped, FI_WRITE | FI_REMOTE_WRITE, 0, key, 0,
                             &registration, nullptr);
  if (code == 0) registration_.reset(registration);
  // Keys travel in 32 bits (docs/wire-protocol.md, section 7): verbs keys have them, others are ours.
  if (code != 0 || fi_mr_key(registration) > UINT32_MAX) {
    registration_.reset();
    munmap(memory, mapped);
    return;
  }
  counters_ = &counters;
  data_ = static_cast<std::byte*>(memory);
  bytes_ = mapped;
  remote_address_ = virtual_addresses ? reinterpret_cast<std::uint64_t>(memory) : 0;
  descriptor_ = fi_mr_desc(registration);
  remote_key_ = static_cast<std::uint32_t>(fi_mr_key(registration));
  ++counters.registrations;
  counters.bytes += mapped;
  counters.bytes_max = std::max(counters.bytes_max, counters.bytes);
}

MemoryRegion::~MemoryRegion() {
  if (data_ == nullptr) return;
  registration_.reset();
  munmap(data_, bytes_);
  ++counters_->deregistrations;
  counters_->bytes -= bytes_;
}

void MemoryRegion::swap(MemoryRegion& other) noexcept {
  std::swap(registration_, other.registration_);
  std::swap(counters_, other.counters_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(remote_address_, other.remote_address_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(remote_key_, other.remote_key_);
}

}  // namespace bufenlarge
