// SPDX-License-Identifier: MIT
// When a peer of whom nothing comes is lost (knob PEER_TIMEOUT, design row B7).
//
// A process that computes, sleeps or is stopped says nothing, and is not lost. So the question goes to the peer's host:
// its kernel or its device responds. The owner looks at a connection kLooks times within the time limit, no two looks
// closer than a kLooks-th of it: what kLooks + 1 looks do not find was not there for the whole limit. While the own
// process computes nobody looks, and that time does not count.
//
// state   a look finds                                    to     order
// ------  ----------------------------------------------  -----  -----
// Quiet   something came from the peer                    Quiet  kNone
// Quiet   nothing, as the kQuietLooks - 1 looks before    Asked  kAsk
// Asked   something came, or the host has responded       Quiet  kNone
// Asked   neither, as the kLooks looks before             Lost   kLose
//
// The class does no I/O and reads no clock.
#pragma once

#include <cstdint>

namespace bufenlarge {

class Silence {
 public:
  enum class Order : std::uint8_t {
    kNone,
    kAsk,   // asks the peer's host; when that cannot be done now, not_asked()
    kLose,  // the connection is lost
  };

  static constexpr std::uint32_t kLooks = 16;
  static constexpr std::uint32_t kQuietLooks = 4;

  // A look. `taken`: the low half of the count of slots that came from the peer. `responded`: the host has responded to
  // the question that was asked last; of no meaning where none was.
  [[nodiscard]] Order look(std::uint32_t taken, bool responded) {
    if (taken != taken_ || (asked_ && responded)) {
      *this = Silence(taken);
      return Order::kNone;
    }
    if (looks_ <= kLooks) ++looks_;
    if (!asked_ && looks_ >= kQuietLooks) {
      asked_ = true;
      return Order::kAsk;
    }
    return asked_ && looks_ > kLooks ? Order::kLose : Order::kNone;
  }
  // The question could not be asked: the next look asks.
  void not_asked() {
    asked_ = false;
    looks_ = kQuietLooks - 1;
  }
  // There is a question without a response.
  [[nodiscard]] bool asked() const { return asked_; }
  // A connection begins.
  void restart() { *this = Silence(); }

  Silence() = default;

 private:
  explicit Silence(std::uint32_t taken) : taken_(taken) {}

  std::uint32_t taken_ = 0;
  std::uint8_t looks_ = 0;  // since something came or the host responded
  bool asked_ = false;
};

}  // namespace bufenlarge
