// The bytes of all arenas cut at every border of a buffer, so that a buffer is a run of whole
// segments.
#pragma once
#include "program/memory.hpp"

namespace trainx::program {

class Segments {
 public:
  struct Run {
    int begin, end;
  };

  /// Of buffers that are used or resident.
  Segments(const StepProgram& p, const Placement& at);
  int count() const { return count_; }
  Run of(BufferId b) const { return runs_[static_cast<std::size_t>(b)]; }

 private:
  int count_ = 0;
  std::vector<Run> runs_;  // by buffer
};

}  // namespace trainx::program
