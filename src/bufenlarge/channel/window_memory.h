// SPDX-License-Identifier: MIT
// Memory that every peer may read and write, registered for as long as it is a window, up to a bound on all of it.
//
// Who may call it: Context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/core.h"
#include "channel/source_table.h"

namespace bufenlarge {

template <class PortT>
class WindowMemory {
 public:
  using Core = bufenlarge::Core<PortT>;

  void count_in(Ledger& ledger) { registrations_.count_in(ledger); }
  void set_bytes_max(std::uint64_t bytes) { registrations_.set_bytes_max(bytes); }
  // False when there are no bytes, and when the registration is refused or beyond the bound.
  [[nodiscard]] bool add(Core& core, void* memory, std::size_t bytes, Window& window);
  // Peers read it no more. The registration stays for writes whose completion is still to come.
  void remove(Core& core, std::uint32_t source);

 private:
  RegistrationKeeper keeper_;  // keeps nothing
  UserRegistrations<PortT> registrations_{keeper_, ~std::uint64_t{0}};
};

}  // namespace bufenlarge
