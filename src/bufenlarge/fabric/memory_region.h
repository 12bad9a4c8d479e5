// SPDX-License-Identifier: MIT
// Memory registered with the device: pages of their own, or the user's.
//
// Pages of their own, registered for RDMA writes from and to them. Whole pages, so that
// madvise(MADV_DONTFORK) and munmap touch nobody else's data; destroying one closes the registration
// and gives the pages back to the system (002 fig 4, blocks 455 and 456).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "fabric/fid.h"

namespace bufenlarge {

// What is registered now, at most, and ever; bytes of own pages are whole pages.
struct RegistrationCounters {
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
  std::uint64_t registrations = 0;
  std::uint64_t deregistrations = 0;
};

class MemoryRegion {
 public:
  MemoryRegion() = default;

  // How regions of one domain are registered.
  struct Domain {
    fid_domain* fid;
    std::uint32_t next_key = 1;      // for providers that let the application choose keys (tcp)
    bool virtual_addresses = false;  // FI_MR_VIRT_ADDR is set
    std::function<void()> on_refused = [] {};
    // The last that was refused.
    std::size_t refused_bytes = 0;
    std::string refused_why;  // the call and its error
  };
  // Own pages. Empty when memory or registration was refused.
  MemoryRegion(Domain& domain, std::size_t bytes, RegistrationCounters& counters);
  // Memory that stays its owner's. `access` as for fi_mr_reg(3). Empty when it was refused.
  MemoryRegion(Domain& domain, void* memory, std::size_t bytes, std::uint64_t access,
               RegistrationCounters& counters);
  MemoryRegion(MemoryRegion&& other) noexcept { swap(other); }
  MemoryRegion& operator=(MemoryRegion&& other) noexcept {
    MemoryRegion(std::move(other)).swap(*this);
    return *this;
  }
  ~MemoryRegion();

  // What a region of so many bytes takes.
  static std::size_t whole_pages(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t remote_address() const { return remote_address_; }
  [[nodiscard]] std::uint32_t remote_key() const { return remote_key_; }
  [[nodiscard]] void* descriptor() const { return descriptor_; }

 private:
  static void refused(Domain& domain, std::size_t bytes, const char* call, int code);
  [[nodiscard]] bool enter(Domain& domain, void* memory, std::size_t bytes, std::uint64_t access,
                           RegistrationCounters& counters);
  void swap(MemoryRegion& other) noexcept;

  RegionFid registration_;
  RegistrationCounters* counters_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t remote_address_ = 0;
  void* descriptor_ = nullptr;
  std::uint32_t remote_key_ = 0;
  bool mapped_ = false;  // own pages
};

}  // namespace bufenlarge
