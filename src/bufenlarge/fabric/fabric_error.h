// SPDX-License-Identifier: MIT
// A libfabric call that failed while something was being opened. Thrown; c_api.cc catches it.
#pragma once

#include <rdma/fi_errno.h>

#include <stdexcept>
#include <string>

namespace bufenlarge {

class FabricError : public std::runtime_error {
 public:
  // `code` as the call returned it, negative.
  FabricError(const std::string& call, long code)
      : std::runtime_error(call + ": " + fi_strerror(static_cast<int>(-code))) {}
  explicit FabricError(const std::string& what) : std::runtime_error(what) {}
};

// The call's result, or an exception that names the call.
inline void must(const char* call, long code) {
  if (code != 0) throw FabricError(call, code);
}

}  // namespace bufenlarge
