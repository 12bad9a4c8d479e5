// SPDX-License-Identifier: MIT
// What the FakePorts of a test have in common: registered memory, and the other side of each link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "channel/port.h"

namespace bufenlarge::test {

class FakePort;

// Memory by remote key, of all sides.
class FakeFabric {
 public:
  struct Memory {
    std::unique_ptr<std::uint64_t[]> words;  // empty: the memory is the user's
    std::size_t bytes;
    std::uint64_t address;
    std::uint32_t key;
    std::byte* user = nullptr;
    std::optional<MemoryUse> use;  // of the user's
    PeerAccess access = PeerAccess::kWrite;
    [[nodiscard]] std::byte* data() const {
      return words ? reinterpret_cast<std::byte*>(words.get()) : user;
    }
  };

  Memory& add(std::size_t bytes, PeerAccess access = PeerAccess::kWrite);
  Memory& add_user(void* memory, std::size_t bytes, MemoryUse use);
  void remove(std::uint32_t key) { memories_.erase(key); }
  // Returns the place a remote write goes to; nullptr when nothing is registered there, or only to be read.
  [[nodiscard]] std::byte* at(std::uint32_t key, std::uint64_t address, std::size_t bytes) const;
  // Whether a question may read there.
  [[nodiscard]] bool may_ask(std::uint32_t key, std::uint64_t address) const;
  // Places bytes as a fabric does. Returns false when there is no such place.
  bool place(std::uint32_t key, std::uint64_t address, std::span<const std::byte> bytes) const;

  std::map<std::uint32_t, FakePort*> ports;  // by rank
  std::vector<std::shared_ptr<void>> links;  // of all ports: each knows its other side
  std::vector<std::string> violations;       // of the contract in channel/port.h
  bool peers_lie = false;                    // about where their memory is and what they used: then no violation

 private:
  std::map<std::uint32_t, Memory> memories_;
  std::uint32_t next_key_ = 1;
};

}  // namespace bufenlarge::test
