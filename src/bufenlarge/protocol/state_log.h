// SPDX-License-Identifier: MIT
// Where a machine reports its changes of state.
#pragma once

namespace bufenlarge {

class StateLog {
 public:
  // Called by the one function of a machine that changes its state. The texts stay valid.
  virtual void state_changed(const char* machine, const char* from, const char* to, const char* why) = 0;

 protected:
  ~StateLog() = default;
};

}  // namespace bufenlarge
