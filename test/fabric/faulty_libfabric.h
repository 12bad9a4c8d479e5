// SPDX-License-Identifier: MIT
// A libfabric one of whose calls fails, when a test says so. It stands before the real one (ld --wrap of fi_getinfo and
// fi_fabric): each object that is opened gets tables of functions that count their calls, and that fail in their turn.
//
// One thread at a time may call into it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bufenlarge::test {

enum class Call : std::uint8_t {
  kGetinfo,
  kFabric,
  kDomain,
  kEventQueue,
  kListener,
  kListenerBind,
  kListen,
  kReject,
  kEndpoint,
  kSharedReceive,
  kBind,
  kEnable,
  kConnect,
  kAccept,
  kName,
  kPeer,
  kReceive,
  kSend,
  kWrite,
  kWriteData,
  kWriteMessage,
  kInjectWrite,
  kRead,
  kCompletionQueue,
  kCompletionDescriptor,
  kCompletionRead,
  kCompletionError,
  kEventDescriptor,
  kEventRead,
  kEventError,
  kTryWait,
  kRegister,
  kClose,
};
constexpr std::size_t kCalls = static_cast<std::size_t>(Call::kClose) + 1;

// libfabric's name of a call.
[[nodiscard]] std::string_view name_of(Call call);

struct Fault {
  Call call{};
  std::uint32_t nth = 0;  // from 1 on; 0: none fails
  int error = 0;          // an FI_E..., positive
  bool for_ever = false;  // and so do all later ones
};

// While one stands, what opens a fabric gets the tables; else libfabric is as it is.
struct FaultyLibfabric {
  FaultyLibfabric();
  FaultyLibfabric(const FaultyLibfabric&) = delete;
  FaultyLibfabric& operator=(const FaultyLibfabric&) = delete;
  ~FaultyLibfabric();
};

// The calls of a kind are counted anew, and this one fails. One of fi_close() closes nevertheless.
void plan(const Fault& fault);
// Nothing fails any more.
inline void plan_nothing() { plan({}); }

// How often it was called since plan().
[[nodiscard]] std::uint32_t calls_of(Call call);
// Objects of libfabric that are open now.
[[nodiscard]] std::int64_t open_objects();

}  // namespace bufenlarge::test
