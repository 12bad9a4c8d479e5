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
#include <set>
#include <utility>

namespace bufenlarge::test {

namespace {

bool stands = false;
Fault fault;
std::array<std::uint32_t, kCalls> counts{};
std::int64_t objects = 0;
bool hides_endpoints = false;
std::set<const fid*> requests;
std::map<const fid_ep*, const fid*> request_of;  // of the endpoints that were opened for one
std::uint32_t misused = 0;

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
  const int code = real_of(object->ops).close(object);
  objects -= code == 0;
  return code;
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

// The function of a table that opens: the same, and what it opens is counted and gets tables.
template <Call kCall, auto kTable, auto kFunction, auto kSetFid, auto kPatchTables>
struct Opening;
template <Call kCall, class Owner, class Ops, Ops* Owner::*kTable, class Attributes, class Object,
          int (*Ops::*kFunction)(Owner*, Attributes*, Object**, void*), void (*kSetFid)(fi_ops&),
          void (*kPatchTables)(Object&)>
struct Opening<kCall, kTable, kFunction, kSetFid, kPatchTables> {
  static int call(Owner* owner, Attributes* attributes, Object** made, void* context) {
    if (const int error = turn(kCall); error != 0) return -error;
    return opened<Object>((real_of(owner->*kTable).*kFunction)(owner, attributes, made, context), made, kSetFid,
                          kPatchTables);
  }
};

// ---- event queues, completion queues, memory

// With a flag it is libfabric's own call, in fi_eq_readerr().
ssize_t read_event(fid_eq* events, std::uint32_t* event, void* entry, std::size_t bytes, std::uint64_t flags) {
  using Read = Counted<Call::kEventRead, &fid_eq::ops, &fi_ops_eq::read, decltype(&fi_ops_eq::read)>;
  const ssize_t read = Read::call(events, event, entry, bytes, flags);
  if (read > 0 && flags == 0 && *event == FI_CONNREQ)
    requests.insert(static_cast<fi_eq_cm_entry*>(entry)->info->handle);
  return read;
}

ssize_t read_error(fid_eq* events, fi_eq_err_entry* entry, std::uint64_t flags) {
  if (const int error = turn(Call::kEventError); error != 0) return -error;
  const ssize_t read = real_of(events->ops).readerr(events, entry, flags);
  if (hides_endpoints && read > 0) entry->fid = nullptr;
  return read;
}

void set_events(fi_ops_eq& ops) {
  ops.read = &read_event;
  ops.readerr = &read_error;
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

void end_request(const fid* request) { misused += requests.erase(request) == 0; }

int accept_request(fid_ep* endpoint, const void* data, std::size_t bytes) {
  using Accept = Counted<Call::kAccept, &fid_ep::cm, &fi_ops_cm::accept, decltype(&fi_ops_cm::accept)>;
  const int code = Accept::call(endpoint, data, bytes);
  if (code == 0) end_request(request_of[endpoint]);
  return code;
}

int reject_request(fid_pep* listener, fid* request, const void* data, std::size_t bytes) {
  using Reject = Counted<Call::kReject, &fid_pep::cm, &fi_ops_cm::reject, decltype(&fi_ops_cm::reject)>;
  end_request(request);
  return Reject::call(listener, request, data, bytes);
}

void set_connections(fi_ops_cm& ops) {
  count<Call::kConnect, &fid_ep::cm, &fi_ops_cm::connect>(ops);
  ops.accept = &accept_request;
  count<Call::kName, &fid_ep::cm, &fi_ops_cm::getname>(ops);
  count<Call::kPeer, &fid_ep::cm, &fi_ops_cm::getpeer>(ops);
  count<Call::kListen, &fid_pep::cm, &fi_ops_cm::listen>(ops);
  ops.reject = &reject_request;
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

void patch_endpoint(fid_ep& endpoint) {
  patch(endpoint.cm, &set_connections);
  patch(endpoint.msg, &set_messages);
  patch(endpoint.rma, &set_writes);
}

// ---- domains and fabrics

void patch_shared_receive(fid_ep& shared) { patch(shared.msg, &set_messages); }

void patch_completions(fid_cq& queue) { patch(queue.ops, &set_completions); }

void patch_events(fid_eq& queue) { patch(queue.ops, &set_events); }

void patch_listener(fid_pep& listener) { patch(listener.cm, &set_connections); }

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
  using Open = Opening<Call::kEndpoint, &fid_domain::ops, &fi_ops_domain::endpoint, &set_endpoint_fid, &patch_endpoint>;
  const int code = Open::call(domain, info, made, context);
  if (code == 0) request_of[*made] = info->handle;
  return code;
}

void set_domain(fi_ops_domain& ops) {
  constexpr auto kTable = &fid_domain::ops;
  ops.cq_open = &Opening<Call::kCompletionQueue, kTable, &fi_ops_domain::cq_open, &set_completion_fid,
                         &patch_completions>::call;
  ops.endpoint = &open_endpoint;
  ops.srx_ctx = &Opening<Call::kSharedReceive, kTable, &fi_ops_domain::srx_ctx, &set_plain,
                         &patch_shared_receive>::call;
}

void patch_domain(fid_domain& domain) {
  patch(domain.ops, &set_domain);
  patch(domain.mr, +[](fi_ops_mr& ops) { ops.reg = &register_memory; });
}

void set_fabric(fi_ops_fabric& ops) {
  constexpr auto kTable = &fid_fabric::ops;
  ops.domain = &Opening<Call::kDomain, kTable, &fi_ops_fabric::domain, &set_plain, &patch_domain>::call;
  ops.eq_open = &Opening<Call::kEventQueue, kTable, &fi_ops_fabric::eq_open, &set_event_fid,
                         &patch_events>::call;
  ops.passive_ep = &Opening<Call::kListener, kTable, &fi_ops_fabric::passive_ep, &set_listener_fid,
                            &patch_listener>::call;
  count<Call::kTryWait, kTable, &fi_ops_fabric::trywait>(ops);
}

}  // namespace

FaultyLibfabric::FaultyLibfabric() { stands = true; }

FaultyLibfabric::~FaultyLibfabric() {
  plan_nothing();
  hide_failed_endpoints(false);
  stands = false;
}

void plan(const Fault& planned) {
  fault = planned;
  counts.fill(0);
}

std::uint32_t calls_of(Call call) { return counts[static_cast<std::size_t>(call)]; }

std::int64_t open_objects() { return objects; }

std::int64_t open_requests() { return static_cast<std::int64_t>(requests.size()); }

std::uint32_t requests_misused() { return misused; }

void hide_failed_endpoints(bool hide) { hides_endpoints = hide; }

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
