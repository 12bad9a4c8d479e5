// SPDX-License-Identifier: MIT
// The exception for a call of libfabric that fails while a context is opened. c_api.cc catches it.
#pragma once

#include <rdma/fi_errno.h>

#include <stdexcept>
#include <string>

namespace bufenlarge {

class FabricError : public std::runtime_error {
 public:
  // `code` is negative, as calls of libfabric return errors (fi_errno(3)).
  FabricError(const std::string& call, long code)
      : std::runtime_error(call + ": " + fi_strerror(static_cast<int>(-code))) {}
  explicit FabricError(const std::string& what) : std::runtime_error(what) {}
};

// Throws a FabricError that names the call unless `code` is 0.
inline void must(const char* call, long code) {
  if (code != 0) throw FabricError(call, code);
}

}  // namespace bufenlarge
