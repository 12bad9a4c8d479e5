// SPDX-License-Identifier: MIT
// Results of data-path calls. kAgain is a normal result: the caller has to try again after progress.
#pragma once

namespace bufenlarge {

enum class Status {
  kOk,
  kAgain,          // no credit, no room in a queue, or not connected yet
  kFabricError,    // a call of libfabric failed for good
  kMemoryError,    // memory could not be allocated or registered
  kPeerFailed,     // the connection is lost
  kProtocolError,  // the peer sent what docs/wire-protocol.md does not allow
  kTimedOut,       // no connection within the connect time limit
};

}  // namespace bufenlarge
