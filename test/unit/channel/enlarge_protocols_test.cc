// SPDX-License-Identifier: MIT
// The two protocols of an upper layer, eager and rendezvous, over small and over large buffers.
#include <catch2/catch.hpp>

#include "support/context_fixture.h"

namespace bufenlarge::test {
namespace {

// Eager sends the data at once. Rendezvous sends a request with the size, waits for the response, and then
// sends the data; both response and data are messages of the channel like any other.
enum class Kind : unsigned char { kEager = 1, kRequest = 2, kResponse = 3, kData = 4 };

Bytes tagged(Kind kind, const Bytes& data) {
  Bytes message(1 + data.size());
  message[0] = static_cast<std::byte>(kind);
  std::copy(data.begin(), data.end(), message.begin() + 1);
  return message;
}

class Exchange {
 public:
  explicit Exchange(const ChannelSettings& how) : pair(how) { pair.open(); }

  void eager(std::uint32_t from, const Bytes& data) { put(from, tagged(Kind::kEager, data)); }
  void rendezvous(std::uint32_t from, const Bytes& data) {
    const std::uint64_t size = data.size();
    Bytes announced(sizeof size);
    std::memcpy(announced.data(), &size, sizeof size);
    put(from, tagged(Kind::kRequest, announced));
    REQUIRE(last(1 - from)[0] == static_cast<std::byte>(Kind::kRequest));
    put(1 - from, tagged(Kind::kResponse, {}));
    REQUIRE(last(from)[0] == static_cast<std::byte>(Kind::kResponse));
    put(from, tagged(Kind::kData, data));
  }
  Bytes received(std::uint32_t at) {
    const Bytes& message = last(at);
    return Bytes(message.begin() + 1, message.end());
  }
  std::uint8_t phase(std::uint32_t from) { return pair.side[from].channel().send_ring().phase(); }
  ContextPair pair;

 private:
  const Bytes& last(std::uint32_t at) { return pair.side[at].messages().back(); }
  void put(std::uint32_t from, Bytes message) {
    const iovec element{message.data(), message.size()};
    std::size_t sent = 0;
    for (unsigned tries = 0; sent < message.size(); ++tries) {
      REQUIRE(tries < 100'000);
      const iovec rest{static_cast<std::byte*>(element.iov_base) + sent, element.iov_len - sent};
      sent += send(pair.side[from].channel(), std::span(&rest, 1)).bytes;
      pair.rounds();
    }
    pair.settle();
  }
};

TEST_CASE("eager and rendezvous work over small buffers, and over large ones", "[channel][pair][E13]") {
  ChannelSettings off = settings(two_phases());
  off.enlargement = false;
  for (const bool large : {false, true}) {
    Exchange exchange(large ? settings(two_phases()) : off);
    INFO((large ? "large" : "small") << " buffers");
    for (const std::size_t size : {1u, 100u, 487u, 488u, 5000u, 8000u, 100'000u}) {
      const Bytes data = pattern(size, static_cast<std::uint32_t>(size));
      exchange.eager(0, data);
      CHECK(exchange.received(1) == data);
      exchange.rendezvous(1, data);
      CHECK(exchange.received(0) == data);
    }
    CHECK(exchange.phase(0) == (large ? 1 : 0));
    CHECK(exchange.phase(1) == (large ? 1 : 0));
  }
}

TEST_CASE("a rendezvous whose data is the first that does not fit grows the channel between response and data",
          "[channel][pair][E13]") {
  Exchange exchange(settings(two_phases()));
  exchange.rendezvous(0, pattern(300));
  CHECK(exchange.phase(0) == 0);
  exchange.rendezvous(0, pattern(6000));
  CHECK(exchange.received(1) == pattern(6000));
  CHECK(exchange.phase(0) == 1);
  CHECK(exchange.phase(1) == 0);  // the response is small
}

}  // namespace
}  // namespace bufenlarge::test
