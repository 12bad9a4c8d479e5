// SPDX-License-Identifier: MIT
// Who waits until registrations of user memory are given back, in order of their coming. While somebody waits, nobody
// who came later registers anything, or a large transfer could wait for ever while small ones overtake it and overlap.
// Who waits for something else as well lets the others pass, and keeps its place.
#pragma once

#include <algorithm>
#include <vector>

namespace bufenlarge {

class RegistrationLine {
 public:
  // The place of one that comes again until it has what it needs, and then leaves.
  class Turn {
   public:
    Turn() = default;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { leave(); }

    // It goes to the end of the line, unless it waits already.
    void wait_in(RegistrationLine& line) {
      if (line_ != nullptr) return;
      line_ = &line;
      line.waiting_.push_back(this);
    }
    void leave() {
      if (line_ != nullptr) std::erase(line_->waiting_, this);
      line_ = nullptr;
    }
    // Lets the others pass, or does not any more.
    void pause() { paused_ = true; }
    void resume() { paused_ = false; }
    [[nodiscard]] bool pauses() const { return paused_; }

   private:
    RegistrationLine* line_ = nullptr;  // null: it does not wait
    bool paused_ = false;
  };

  RegistrationLine() = default;
  RegistrationLine(const RegistrationLine&) = delete;
  RegistrationLine& operator=(const RegistrationLine&) = delete;

  // Whether nobody waits before this one, which is null for one that has no turn.
  [[nodiscard]] bool is_first(const Turn* turn) const {
    const auto first = std::ranges::find(waiting_, false, &Turn::pauses);
    return first == waiting_.end() || *first == turn;
  }

 private:
  std::vector<Turn*> waiting_;
};

}  // namespace bufenlarge
