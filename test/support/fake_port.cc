// SPDX-License-Identifier: MIT
#include "support/fake_port.h"

#include <cstring>

#include "support/holds.h"

namespace bufenlarge::test {

FakeFabric::Memory& FakeFabric::add(std::size_t bytes, PeerAccess access) {
  const std::uint32_t key = next_key_++;
  const std::uint64_t address = std::uint64_t{key} << 32;
  Memory memory{std::make_unique<std::uint64_t[]>((bytes + 7) / 8), bytes, address, key, nullptr, {}, access};
  return memories_.emplace(key, std::move(memory)).first->second;
}

FakeFabric::Memory& FakeFabric::add_user(void* memory, std::size_t bytes, MemoryUse use) {
  const std::uint32_t key = next_key_++;
  Memory made{nullptr, bytes, std::uint64_t{key} << 32, key, static_cast<std::byte*>(memory), use};
  return memories_.emplace(key, std::move(made)).first->second;
}

std::byte* FakeFabric::at(std::uint32_t key, std::uint64_t address, std::size_t bytes) const {
  const auto found = memories_.find(key);
  if (found == memories_.end() || found->second.use == MemoryUse::kSource) return nullptr;
  const Memory& memory = found->second;
  const bool inside = address >= memory.address && address - memory.address + bytes <= memory.bytes;
  return inside ? memory.data() + (address - memory.address) : nullptr;
}

bool FakeFabric::may_ask(std::uint32_t key, std::uint64_t address) const {
  const auto found = memories_.find(key);
  return at(key, address, kQuestionBytes) != nullptr && found->second.access == PeerAccess::kWriteAndQuestions;
}

bool FakeFabric::place(std::uint32_t key, std::uint64_t address, std::span<const std::byte> bytes) const {
  std::byte* to = at(key, address, bytes.size());
  if (to != nullptr && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to != nullptr;
}

FakePort::Region::~Region() {
  if (memory_ == nullptr) return;
  port_->log.push_back((memory_->user == nullptr ? "free " : "unregister ") + std::to_string(memory_->bytes));
  const auto reads = [this](const Posted& posted) {
    return posted.link->user != nullptr && posted.region_key == memory_->key;
  };
  if (std::ranges::any_of(port_->posted_, reads) || std::ranges::any_of(port_->posted_words_, reads))
    port_->fabric.violations.push_back("memory was freed while a posted write read it");
  for (const auto& [rank, port] : port_->fabric.ports) {
    const auto comes = [this](const Write& write) {
      const LinkState* to = write.link->other;
      return write.key == memory_->key && write.link->user != nullptr && to != nullptr && to->user != nullptr;
    };
    if (memory_->use == MemoryUse::kDestination && std::ranges::any_of(port->withheld, comes))
      port_->fabric.violations.push_back("memory was unregistered while a write to it was under way");
  }
  port_->fabric.remove(memory_->key);
}

void FakePort::Link::close() {
  if (state_ == nullptr) return;
  LinkState* state = std::exchange(state_, nullptr);
  state->user = nullptr;
  state->port->log.push_back("close");
  if (state->other != nullptr && state->other->user != nullptr)
    state->other->port->lost(state->other, "the peer closed the connection");
}

void FakePort::check_question(const HostQuestion<Region>& question) {
  if (question.connected && !fabric.peers_lie && !fabric.may_ask(question.key, question.address))
    fabric.violations.push_back("a question named memory of the peer that it may not read");
  if (!holds(question.region, question.to, kQuestionBytes))
    fabric.violations.push_back("a question named own memory outside of its region");
}

bool FakePort::ask(Link& link, const HostQuestion<Region>& question) {
  check_question(question);
  ++link.state()->asked;
  return !refuses_questions;
}

FakePort::LinkState* FakePort::make_link(std::span<const std::byte> data, void* user) {
  const auto link = std::make_shared<LinkState>();
  fabric.links.push_back(link);
  link->port = this;
  link->user = user;
  link->group = next_group;
  groups_ = std::max(groups_, next_group + 1);
  link->data.assign(data.begin(), data.end());
  return link.get();
}

FakePort::Region FakePort::allocate(std::size_t bytes, PeerAccess access) {
  while (refuses_memory && refuses_memory(bytes)) {
    log.push_back("refuse " + std::to_string(bytes));
    if (!give_way_(bytes)) return {};
  }
  log.push_back("allocate " + std::to_string(bytes));
  return {this, &fabric.add(bytes, access)};
}

void FakePort::set_in_use(const Region&, const std::byte* from, std::size_t bytes, bool in_use) {
  if (in_use ? in_use_.insert(from).second : in_use_.erase(from) == 1)
    log.push_back((in_use ? "use " : "give back ") + std::to_string(bytes));
}

FakePort::Region FakePort::register_memory(void* memory, std::size_t bytes, MemoryUse use) {
  while (refuses_user_memory && refuses_user_memory(use, bytes)) {
    log.push_back("refuse " + std::to_string(bytes));
    if (!give_way_(bytes)) return {};
  }
  log.push_back("register " + std::to_string(bytes));
  return Region(this, &fabric.add_user(memory, bytes, use));
}

FakePort::Link FakePort::open(const void* address, std::span<const std::byte> data, void* user) {
  log.push_back("open");
  if (refuses_open) return {};
  LinkState* link = make_link(data, user);
  opened.push_back(link);
  std::uint32_t rank = 0;
  std::memcpy(&rank, address, sizeof rank);
  const auto port = fabric.ports.find(rank);
  if (port != fabric.ports.end()) port->second->request(link->data, link);
  return Link(link);
}

FakePort::Link FakePort::accept(Request& request, std::span<const std::byte> data, void* user) {
  log.push_back("accept");
  request.answered = true;
  if (refuses_accept) return {};
  LinkState* link = make_link(data, user);
  accepted.push_back(link);
  if (request.from != nullptr && request.from->user != nullptr) {
    link->other = request.from;
    request.from->other = link;
    request.from->port->connected(request.from, link->data);
    connected(link, {});
  }
  return Link(link);
}

void FakePort::reject(Request& request, std::span<const std::byte> data) {
  log.push_back("reject");
  request.answered = true;
  rejections.emplace_back(data.begin(), data.end());
  if (request.from != nullptr) request.from->port->rejected(request.from, rejections.back());
}

void FakePort::check_write(const Link& link, const Region& region, const std::byte* from, std::size_t bytes,
                           WriteUse use, std::uint32_t sequence) {
  if (!holds(region, from, bytes))
    fabric.violations.push_back("a write from outside of its region");
  if ((sequence != 0) != (use == WriteUse::kLastData))
    fabric.violations.push_back("a sequence belongs to the last write of a response, and to no other");
  const LinkState* other = link.state()->other;
  // What is notified for a mixed side depends on its slots.
  if (other != nullptr && is_slots(use) && other->port->arrives != Arrival::kMixed &&
      (use == WriteUse::kNotifiedSlots) != (other->port->arrives == Arrival::kNotified))
    fabric.violations.push_back("slots notified for a peer that did not ask for it, or not notified for one that did");
}

void FakePort::land(const Write& write) {
  if (!fabric.place(write.key, write.address, write.bytes) && !fabric.peers_lie)
    fabric.violations.push_back("a write to memory that is not registered");
  LinkState* other = write.link->other;
  if (other == nullptr) return;
  if (write.use == WriteUse::kNotifiedSlots) other->port->notify(other);
  if (write.use == WriteUse::kLastData) other->port->end_read(other, write.sequence);
}

WriteResult FakePort::write(Link& link, const RdmaWrite<Region>& order) {
  const auto& [region, from, bytes, address, key, use, sequence] = order;
  if (!link || !link.state()->connected) {
    fabric.violations.push_back("a write on a link that is not connected");
    return WriteResult::kFailed;
  }
  check_write(link, region, from, bytes, use, sequence);
  Write write{link.state(), Bytes(from, from + bytes), address, key, use, sequence};
  const WriteResult result = takes(write);
  if (result == WriteResult::kAgain || result == WriteResult::kFailed) {
    ++refused_writes;
    return result;
  }
  if (withholds && withholds(write))
    withheld.push_back(write);
  else
    land(write);
  writes.push_back(std::move(write));
  if (result != WriteResult::kCopied) {
    auto& posted = use == WriteUse::kWord || use == WriteUse::kHint ? posted_words_ : posted_;
    posted.push_back({link.state(), region.remote_key(), from, writes.back().bytes, use, result == WriteResult::kHeld});
    held_ = result == WriteResult::kHeld ? held_ + 1 : 0;
  }
  return result;
}

WriteResult FakePort::takes(const Write& write) {
  const bool data = is_data(write.use);
  if (held_ != 0 && !data) return WriteResult::kAgain;
  const bool holds = write.use == WriteUse::kMoreData && held_ + 1 < parts_max;
  const bool copies = write.bytes.size() <= kInlineBytes && !(data && parts_max > 1);
  const WriteResult normal = holds ? WriteResult::kHeld : copies ? WriteResult::kCopied : WriteResult::kPosted;
  return rule ? rule(write).value_or(normal) : normal;
}

FakePort::Posted FakePort::finish_oldest(std::deque<Posted>& posted) {
  const Posted done = std::move(posted.front());
  posted.pop_front();
  const bool same = done.link->user == nullptr || std::memcmp(done.from, done.bytes.data(), done.bytes.size()) == 0;
  // The channel keeps a word until the peer has used it. A peer that lies says so too early, and harms itself only.
  const bool may_change = done.use == WriteUse::kWord && fabric.peers_lie;
  if (!same && !may_change) fabric.violations.push_back("memory was changed while a posted write read it");
  return done;
}

void FakePort::connected(LinkState* link, Bytes data) {
  events_.push_back({Event::Kind::kConnected, link, std::move(data), {}});
}

void FakePort::rejected(LinkState* link, Bytes data) {
  events_.push_back({Event::Kind::kRejected, link, std::move(data), {}});
}

void FakePort::lost(LinkState* link, std::string why) {
  events_.push_back({Event::Kind::kLost, link, {}, std::move(why)});
}

void FakePort::unreachable(LinkState* link, std::string why) {
  events_.push_back({Event::Kind::kUnreachable, link, {}, std::move(why)});
}

void FakePort::unnamed_failure(std::string why) {
  events_.push_back({Event::Kind::kUnnamed, nullptr, {}, std::move(why)});
}

void FakePort::request(Bytes data, LinkState* from) {
  events_.push_back({Event::Kind::kRequest, from, std::move(data), {}});
}

std::vector<std::string> FakePort::news() {
  std::vector<std::string> fresh(log.begin() + static_cast<std::ptrdiff_t>(news_begin_), log.end());
  news_begin_ = log.size();
  return fresh;
}

}  // namespace bufenlarge::test
