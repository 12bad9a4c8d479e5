// SPDX-License-Identifier: MIT
// Memory that is registered with the device: pages of the region's own, or memory of the user.
//
// Own pages are whole pages, so madvise(MADV_DONTFORK) and munmap(2) touch no other data. The destructor closes the
// registration and returns own pages to the system; memory of the user stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "fabric/fid.h"

namespace bufenlarge {

// The bytes that are registered, and how often memory was registered. Own pages count as whole pages.
struct RegistrationCounters {
  std::uint64_t bytes = 0;      // now
  std::uint64_t bytes_max = 0;  // the most at any time
  std::uint64_t registrations = 0;
  std::uint64_t deregistrations = 0;
};

// Returns a number that nobody can guess. Throws std::runtime_error where the system has none.
[[nodiscard]] std::uint64_t draw_secret();

class MemoryRegion {
 public:
  MemoryRegion() = default;

  // How regions of one domain are registered.
  struct Domain {
    fid_domain* fid;
    std::uint64_t key_secret = draw_secret();  // for providers that let the application choose keys (tcp)
    std::uint64_t keys_taken = 0;
    bool virtual_addresses = false;           // FI_MR_VIRT_ADDR is set (fi_mr(3))
    std::function<void()> on_refused = [] {};  // called after a region was refused
    // Called with the bytes of a registration that the provider refuses. Returns true when other registrations have
    // ended, so that it is worth another try.
    std::function<bool(std::size_t)> give_way = [](std::size_t) { return false; };
    // The region that was refused last: its bytes, the call that failed and its error.
    std::size_t refused_bytes = 0;
    std::string refused_why{};
  };
  // Maps and registers own pages, with `access` as for fi_mr_reg(3). The region is empty if the system refuses the
  // memory or the registration.
  MemoryRegion(Domain& domain, std::size_t bytes, std::uint64_t access, RegistrationCounters& counters);
  // Registers memory of the user, with `access` as for fi_mr_reg(3). The region is empty if that is refused.
  MemoryRegion(Domain& domain, void* memory, std::size_t bytes, std::uint64_t access,
               RegistrationCounters& counters);
  MemoryRegion(MemoryRegion&& other) noexcept { swap(other); }
  MemoryRegion& operator=(MemoryRegion&& other) noexcept {
    MemoryRegion(std::move(other)).swap(*this);
    return *this;
  }
  ~MemoryRegion();

  // Returns the size of a region of own pages for `bytes` bytes.
  static std::size_t whole_pages(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t remote_address() const { return remote_address_; }
  [[nodiscard]] std::uint32_t remote_key() const { return remote_key_; }
  [[nodiscard]] void* descriptor() const { return descriptor_; }

 private:
  // Keeps why a region was refused and calls on_refused.
  static void refused(Domain& domain, std::size_t bytes, const char* call, int code);
  // Registers the memory and fills in the members. Returns false if that is refused.
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
