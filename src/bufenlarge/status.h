// SPDX-License-Identifier: MIT
// Results of data-path calls. kAgain is a normal response with a duty: try again after progress.
#pragma once

namespace bufenlarge {

enum class Status {
  kOk,
  kAgain,          // no credit, no room in a queue, not connected yet
  kFabricError,    // libfabric refused for good
  kMemoryError,    // memory could not be had or registered
  kPeerFailed,     // the connection is lost
  kProtocolError,  // the peer sent what the wire document does not allow
  kTimedOut,       // the connect time limit passed
};

}  // namespace bufenlarge
