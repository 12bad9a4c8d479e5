// SPDX-License-Identifier: MIT
// What happens in a simulated world, as lines and as a hash of all of them. The hash is always made,
// the text only when somebody wants it: two runs of a seed are the same run when their hashes are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/sim_clock.h"

namespace bufenlarge::sim {

enum class TraceOutput : std::uint8_t { kNone, kPrint, kKeep };

class SimTrace {
 public:
  SimTrace(const SimClock& clock, TraceOutput output) : clock_(clock), output_(output) {}

  // `format` is printf's; arguments are texts (%s) or integers, all of which are handed on as long long
  // (%lld). Nothing that depends on where memory lies.
  template <class... Arguments>
  void note(const char* format, Arguments... arguments) {
    fold(clock_.now_us());
    fold(format);
    (fold(arguments), ...);
    if (output_ == TraceOutput::kNone) [[likely]]
      return;
    char line[256];
    if constexpr (sizeof...(arguments) == 0)
      emit(format);
    else if (std::snprintf(line, sizeof line, format, wide(arguments)...) > 0)
      emit(line);
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static const char* wide(const char* text) { return text; }
  template <class Number>
  requires std::is_integral_v<Number>
  static long long wide(Number number) { return static_cast<long long>(number); }

  void fold(std::string_view text) {
    for (const char one : text) fold(static_cast<unsigned char>(one));
  }
  void fold(const char* text) { fold(std::string_view(text)); }
  template <class Number>
  requires std::is_integral_v<Number>
  void fold(Number number) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }

  void emit(const char* line) {
    char time[32];
    std::snprintf(time, sizeof time, "%8llu  ", static_cast<unsigned long long>(clock_.since_start_us()));
    if (output_ == TraceOutput::kPrint) std::printf("%s%s\n", time, line);
    if (output_ == TraceOutput::kKeep) text_.append(time).append(line).append("\n");
  }

  const SimClock& clock_;
  std::uint64_t hash_ = 0;
  std::string text_;
  TraceOutput output_;
};

}  // namespace bufenlarge::sim
