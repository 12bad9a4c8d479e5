// SPDX-License-Identifier: MIT
#include "fabric/memory_region.h"

#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "protocol/keys.h"

namespace bufenlarge {

std::uint64_t draw_secret() {
  std::random_device system;
  return std::uint64_t{system()} << 32 | system();
}

std::size_t MemoryRegion::whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

MemoryRegion::MemoryRegion(Domain& domain, std::size_t bytes, std::uint64_t access,
                           RegistrationCounters& counters) {
  const std::size_t mapped = whole_pages(bytes);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    refused(domain, mapped, "mmap", errno);
    return;
  }
  mapped_ = enter(domain, memory, mapped, access, counters);
  if (!mapped_) munmap(memory, mapped);
}

MemoryRegion::MemoryRegion(Domain& domain, void* memory, std::size_t bytes, std::uint64_t access,
                           RegistrationCounters& counters) {
  (void)enter(domain, memory, bytes, access, counters);
}

bool MemoryRegion::enter(Domain& domain, void* memory, std::size_t bytes, std::uint64_t access,
                         RegistrationCounters& counters) {
  fid_mr* registration = nullptr;
  int code = 0;
  do {  // a key may be one that is in use
    const std::uint32_t key = remote_key_of(domain.key_secret, domain.keys_taken++);
    code = fi_mr_reg(domain.fid, memory, bytes, access, 0, key, 0, &registration, nullptr);
  } while (code == -FI_ENOKEY || (code != 0 && domain.give_way(bytes)));
  if (code == 0) registration_.reset(registration);
  // Keys travel in 32 bits (docs/wire-protocol.md, section 7). Those of verbs have 32 bits, and this side chooses
  // those of other providers.
  if (code != 0 || fi_mr_key(registration) > UINT32_MAX) {
    registration_.reset();
    refused(domain, bytes, "fi_mr_reg", code != 0 ? -code : FI_ENOKEY);
    return false;
  }
  counters_ = &counters;
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  remote_address_ = domain.virtual_addresses ? reinterpret_cast<std::uint64_t>(memory) : 0;
  descriptor_ = fi_mr_desc(registration);
  remote_key_ = static_cast<std::uint32_t>(fi_mr_key(registration));
  ++counters.registrations;
  counters.bytes += bytes;
  counters.bytes_max = std::max(counters.bytes_max, counters.bytes);
  return true;
}

void MemoryRegion::refused(Domain& domain, std::size_t bytes, const char* call, int code) {
  domain.refused_bytes = bytes;
  domain.refused_why = std::string(call) + ": " + fi_strerror(code);
  domain.on_refused();
}

MemoryRegion::~MemoryRegion() {
  if (data_ == nullptr) return;
  registration_.reset();
  if (mapped_) munmap(data_, bytes_);
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
  std::swap(mapped_, other.mapped_);
}

}  // namespace bufenlarge
