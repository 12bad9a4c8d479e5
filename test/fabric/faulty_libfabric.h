// SPDX-License-Identifier: MIT
// A libfabric one of whose calls fails, when a test says so. It stands before the real one (ld --wrap of fi_getinfo and
// fi_fabric): each object that is opened gets tables of functions that count their calls, and that fail in their turn.
//
// One thread at a time may call into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bufenlarge::test {

// The calls that may fail, with libfabric's names. fi_close() is none: the library prints its failure, which no test
// program may do (support/catch_main.cc).
#define BUFENLARGE_FAULTY_CALLS(X)                            \
  X(Getinfo, "fi_getinfo")                                    \
  X(Fabric, "fi_fabric")                                      \
  X(Domain, "fi_domain")                                      \
  X(EventQueue, "fi_eq_open")                                 \
  X(Listener, "fi_passive_ep")                                \
  X(ListenerBind, "fi_pep_bind")                              \
  X(Listen, "fi_listen")                                      \
  X(Reject, "fi_reject")                                      \
  X(Endpoint, "fi_endpoint")                                  \
  X(SharedReceive, "fi_srx_context")                          \
  X(Bind, "fi_ep_bind")                                       \
  X(Enable, "fi_enable")                                      \
  X(Connect, "fi_connect")                                    \
  X(Accept, "fi_accept")                                      \
  X(Name, "fi_getname")                                       \
  X(Peer, "fi_getpeer")                                       \
  X(Receive, "fi_recv")                                       \
  X(Send, "fi_send")                                          \
  X(Write, "fi_write")                                        \
  X(WriteData, "fi_writedata")                                \
  X(WriteMessage, "fi_writemsg")                              \
  X(InjectWrite, "fi_inject_write")                           \
  X(Read, "fi_read")                                          \
  X(CompletionQueue, "fi_cq_open")                            \
  X(CompletionDescriptor, "fi_control of a completion queue") \
  X(CompletionRead, "fi_cq_read")                             \
  X(CompletionError, "fi_cq_readerr")                         \
  X(EventDescriptor, "fi_control of an event queue")          \
  X(EventRead, "fi_eq_read")                                  \
  X(EventError, "fi_eq_readerr")                              \
  X(TryWait, "fi_trywait")                                    \
  X(Register, "fi_mr_reg")

#define BUFENLARGE_CALL(call, name) k##call,
enum class Call : std::uint8_t { BUFENLARGE_FAULTY_CALLS(BUFENLARGE_CALL) };
#undef BUFENLARGE_CALL
#define BUFENLARGE_CALL(call, name) name,
constexpr std::array kCallNames{BUFENLARGE_FAULTY_CALLS(BUFENLARGE_CALL)};
#undef BUFENLARGE_CALL
constexpr std::size_t kCalls = kCallNames.size();

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

// The calls are counted anew, and this one fails.
void plan(const Fault& fault);
// Nothing fails any more.
inline void plan_nothing() { plan({}); }

// How often it was called since plan().
[[nodiscard]] std::uint32_t calls_of(Call call);
// From now on no event says whose attempt has failed, as on verbs before libfabric 1.21.
void hide_failed_endpoints(bool hide);
// Objects of libfabric that are open now.
[[nodiscard]] std::int64_t open_objects();
// Requests of callers that were handed out and are not yet accepted or rejected. libfabric keeps a record of each until
// fi_accept() succeeds or fi_reject() is called, also of one whose endpoint is closed.
[[nodiscard]] std::int64_t open_requests();
// How often one was accepted or rejected that was not open.
[[nodiscard]] std::uint32_t requests_misused();

}  // namespace bufenlarge::test
