// SPDX-License-Identifier: MIT
#include "fabric/faulty_libfabric.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <map>
#include <memory>
#include <utility>

namespace bufenlarge::test {

namespace {

constexpr std::array<std::string_view, kCalls> kNames{
    "fi_getinfo",   "fi_fabric",      "fi_domain",      "fi_eq_open",  "fi_passive_ep", "fi_pep_bind",
    "fi_listen",    "fi_reject",      "fi_endpoint",    "fi_srx_context", "fi_ep_bind", "fi_enable",
    "fi_connect",   "fi_accept",      "fi_getname",     "fi_getpeer",  "fi_recv",       "fi_send",
    "fi_write",     "fi_writedata",   "fi_writemsg",    "fi_inject_write", "fi_read",   "fi_cq_open",
    "fi_control of a completion queue", "fi_cq_read",   "fi_cq_readerr", "fi_control of an event queue",
    "fi_eq_read",   "fi_eq_readerr",  "fi_trywait",     "fi_mr_reg",   "fi_close"};

bool stands = false;
Fault fault;
std::array<std::uint32_t, kCalls> counts{};
std::int64_t objects = 0;

// Counts a call. Returns the error that it has to fail with, or 0.
int turn(Call call) {
  const std::uint32_t count = ++counts[static_cast<std::size_t>(call)];
  const bool its_turn = count == fault.nth || (fault.for_ever && count > fault.nth);
  const bool fails = fault.nth != 0 && call == fault.call && its_turn;
  return fails ? fault.error : 0;
}

// While one stands, what is allocated is no leak. libfabric's tcp provider keeps a record of a caller that was neither
// accepted nor rejected, and allocates it in whatever call makes progress. What a call opens is looked after even so.
struct NoLeaks {
#ifdef __SANITIZE_ADDRESS__
  NoLeaks() { __lsan_disable(); }
  NoLeaks(const NoLeaks&) = delete;
  NoLeaks& operator=(const NoLeaks&) = delete;
  ~NoLeaks() { __lsan_enable(); }
#endif
};

// A table of libfabric's with some functions replaced, and the real one behind it, for these to find.
template <class Ops>
struct Patched {
  Ops ops;
  const Ops* real;
};

// Replaces a table of an object by one that `set` has changed.
template <class Ops>
void patch(Ops*& table, void (*set)(Ops&)) {
  static std::map<std::pair<const Ops*, void (*)(Ops&)>, std::unique_ptr<Patched<Ops>>> made;
  std::unique_ptr<Patched<Ops>>& patched = made[{table, set}];
  if (!patched) {
    patched = std::make_unique<Patched<Ops>>(Patched<Ops>{*table, table});
    set(patched->ops);
  }
  table = &patched->ops;
}

template <class Ops>
const Ops& real_of(const Ops* table) {
  return *reinterpret_cast<const Patched<Ops>*>(table)->real;
}

// The function of a table that counts, may fail, and calls the real one. libfabric's objects begin with their fid, so
// one that takes a fid finds the table, too.
template <Call kCall, auto kTable, auto kFunction, class Type>
struct Counted;
template <Call kCall, class Owner, class Ops, Ops* Owner::*kTable, auto kFunction, class Result, class Object,
          class... Args>
struct Counted<kCall, kTable, kFunction, Result (*Ops::*)(Object*, Args...)> {
  static Result call(Object* object, Args... args) {
    const int error = turn(kCall);
    if (error != 0) return -error;
    const Ops& real = real_of(reinterpret_cast<Owner*>(object)->*kTable);
    [[maybe_unused]] const NoLeaks progress;
    return (real.*kFunction)(object, args...);
  }
};

template <Call kCall, auto kTable, auto kFunction, class Ops>
void count(Ops& ops) {
  ops.*kFunction = &Counted<kCall, kTable, kFunction, decltype(kFunction)>::call;
}

int close(fid* object) {
  const int error = turn(Call::kClose);
  const int code = real_of(object->ops).close(object);
  objects -= code == 0;
  return error != 0 ? -error : code;
}

void set_plain(fi_ops& ops) { ops.close = &close; }

// The end of a call that opens: the object is counted, and `patch_tables` gives it tables that count.
template <class Object>
int opened(int code, Object** made, void (*set)(fi_ops&), void (*patch_tables)(Object&)) {
  if (code != 0) return code;
  ++objects;
  patch((*made)->fid.ops, set);
  patch_tables(**made);
  return 0;
}

// ---- event queues, completion queues, memory

void set_events(fi_ops_eq& ops) {
  count<Call::kEventRead, &fid_eq::ops, &fi_ops_eq::read>(ops);
  count<Call::kEventError, &fid_eq::ops, &fi_ops_eq::readerr>(ops);
}

void set_event_fid(fi_ops& ops) {
  set_plain(ops);
  count<Call::kEventDescriptor, &fid::ops, &fi_ops::control>(ops);
}

void set_completions(fi_ops_cq& ops) {
  count<Call::kCompletionRead, &fid_cq::ops, &fi_ops_cq::read>(ops);
  count<Call::kCompletionError, &fid_cq::ops, &fi_ops_cq::readerr>(ops);
}

void set_completion_fid(fi_ops& ops) {
  set_plain(ops);
  count<Call::kCompletionDescriptor, &fid::ops, &fi_ops::control>(ops);
}

int register_memory(fid* domain, const void* memory, std::size_t bytes, std::uint64_t access, std::uint64_t offset,
                    std::uint64_t key, std::uint64_t flags, fid_mr** made, void* context) {
  if (const int error = turn(Call::kRegister); error != 0) return -error;
  const fi_ops_mr& real = real_of(reinterpret_cast<fid_domain*>(domain)->mr);
  return opened<fid_mr>(real.reg(domain, memory, bytes, access, offset, key, flags, made, context), made, &set_plain,
                        [](fid_mr&) {});
}

// ---- endpoints

void set_connections(fi_ops_cm& ops) {
  count<Call::kConnect, &fid_ep::cm, &fi_ops_cm::connect>(ops);
  count<Call::kAccept, &fid_ep::cm, &fi_ops_cm::accept>(ops);
  count<Call::kName, &fid_ep::cm, &fi_ops_cm::getname>(ops);
  count<Call::kPeer, &fid_ep::cm, &fi_ops_cm::getpeer>(ops);
  count<Call::kListen, &fid_pep::cm, &fi_ops_cm::listen>(ops);
  count<Call::kReject, &fid_pep::cm, &fi_ops_cm::reject>(ops);
}

void set_messages(fi_ops_msg& ops) {
  count<Call::kReceive, &fid_ep::msg, &fi_ops_msg::recv>(ops);
  count<Call::kSend, &fid_ep::msg, &fi_ops_msg::send>(ops);
}

void set_writes(fi_ops_rma& ops) {
  count<Call::kRead, &fid_ep::rma, &fi_ops_rma::read>(ops);
  count<Call::kWrite, &fid_ep::rma, &fi_ops_rma::write>(ops);
  count<Call::kWriteData, &fid_ep::rma, &fi_ops_rma::writedata>(ops);
  count<Call::kWriteMessage, &fid_ep::rma, &fi_ops_rma::writemsg>(ops);
  count<Call::kInjectWrite, &fid_ep::rma, &fi_ops_rma::inject>(ops);
}

void set_endpoint_fid(fi_ops& ops) {
  set_plain(ops);
  count<Call::kBind, &fid::ops, &fi_ops::bind>(ops);
  count<Call::kEnable, &fid::ops, &fi_ops::control>(ops);
}

void set_listener_fid(fi_ops& ops) {
  set_plain(ops);
  count<Call::kListenerBind, &fid::ops, &fi_ops::bind>(ops);
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
  if (const int error = turn(Call::kEndpoint); error != 0) return -error;
  return opened<fid_ep>(real_of(domain->ops).endpoint(domain, info, made, context), made, &set_endpoint_fid,
                        [](fid_ep& endpoint) {
                          patch(endpoint.cm, &set_connections);
                          patch(endpoint.msg, &set_messages);
                          patch(endpoint.rma, &set_writes);
                        });
}

int open_shared_receive(fid_domain* domain, fi_rx_attr* attributes, fid_ep** made, void* context) {
  if (const int error = turn(Call::kSharedReceive); error != 0) return -error;
  return opened<fid_ep>(real_of(domain->ops).srx_ctx(domain, attributes, made, context), made, &set_plain,
                        [](fid_ep& shared) { patch(shared.msg, &set_messages); });
}

// ---- domains and fabrics

int open_completions(fid_domain* domain, fi_cq_attr* attributes, fid_cq** made, void* context) {
  if (const int error = turn(Call::kCompletionQueue); error != 0) return -error;
  return opened<fid_cq>(real_of(domain->ops).cq_open(domain, attributes, made, context), made, &set_completion_fid,
                        [](fid_cq& queue) { patch(queue.ops, &set_completions); });
}

void set_domain(fi_ops_domain& ops) {
  ops.cq_open = &open_completions;
  ops.endpoint = &open_endpoint;
  ops.srx_ctx = &open_shared_receive;
}

void set_memory(fi_ops_mr& ops) { ops.reg = &register_memory; }

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** made, void* context) {
  if (const int error = turn(Call::kDomain); error != 0) return -error;
  return opened<fid_domain>(real_of(fabric->ops).domain(fabric, info, made, context), made, &set_plain,
                            [](fid_domain& domain) {
                              patch(domain.ops, &set_domain);
                              patch(domain.mr, &set_memory);
                            });
}

int open_events(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** made, void* context) {
  if (const int error = turn(Call::kEventQueue); error != 0) return -error;
  return opened<fid_eq>(real_of(fabric->ops).eq_open(fabric, attributes, made, context), made, &set_event_fid,
                        [](fid_eq& queue) { patch(queue.ops, &set_events); });
}

int open_listener(fid_fabric* fabric, fi_info* info, fid_pep** made, void* context) {
  if (const int error = turn(Call::kListener); error != 0) return -error;
  return opened<fid_pep>(real_of(fabric->ops).passive_ep(fabric, info, made, context), made, &set_listener_fid,
                         [](fid_pep& listener) { patch(listener.cm, &set_connections); });
}

void set_fabric(fi_ops_fabric& ops) {
  ops.domain = &open_domain;
  ops.eq_open = &open_events;
  ops.passive_ep = &open_listener;
  count<Call::kTryWait, &fid_fabric::ops, &fi_ops_fabric::trywait>(ops);
}

}  // namespace

FaultyLibfabric::FaultyLibfabric() { stands = true; }

FaultyLibfabric::~FaultyLibfabric() {
  plan_nothing();
  stands = false;
}

std::string_view name_of(Call call) { return kNames[static_cast<std::size_t>(call)]; }

void plan(const Fault& planned) {
  fault = planned;
  counts.fill(0);
}

std::uint32_t calls_of(Call call) { return counts[static_cast<std::size_t>(call)]; }

std::int64_t open_objects() { return objects; }

extern "C" {

int __real_fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                      const fi_info* hints, fi_info** found);
int __real_fi_fabric(fi_fabric_attr* attributes, fid_fabric** made, void* context);

int __wrap_fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                      const fi_info* hints, fi_info** found) {
  const int error = stands ? turn(Call::kGetinfo) : 0;
  return error != 0 ? -error : __real_fi_getinfo(version, node, service, flags, hints, found);
}

int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** made, void* context) {
  if (!stands) return __real_fi_fabric(attributes, made, context);
  if (const int error = turn(Call::kFabric); error != 0) return -error;
  return opened<fid_fabric>(__real_fi_fabric(attributes, made, context), made, &set_plain,
                            [](fid_fabric& fabric) { patch(fabric.ops, &set_fabric); });
}

}  // extern "C"

}  // namespace bufenlarge::test
