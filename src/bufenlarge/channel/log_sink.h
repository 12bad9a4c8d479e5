// SPDX-License-Identifier: MIT
// Where the channels of a context write their log.
#pragma once

#include <cstdint>
#include <string_view>

namespace bufenlarge {

class LogSink {
 public:
  // Writes one line, without its end, about the channel to `peer`.
  virtual void line(std::uint32_t peer, std::string_view text) = 0;

 protected:
  ~LogSink() = default;
};

}  // namespace bufenlarge
