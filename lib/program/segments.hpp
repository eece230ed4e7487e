// The bytes of all arenas cut at every border of a use, so that a use is a run of whole segments.
#pragma once
#include "program/memory.hpp"
#include <array>

namespace trainx::program {

class Segments {
 public:
  struct Run {
    int begin, end;
  };

  Segments(const StepProgram& p, const Placement& at);
  int count() const { return static_cast<int>(cuts_.size()); }
  /// Of use `use` of an instruction: by list (0 prologue, 1 steady, 2 drain), position and number
  /// of the use.
  Run of(int list, int position, int use) const { return runs_[first_use_[list][position] + use]; }
  /// Of a whole buffer: the segments that lie wholly inside.
  Run of_buffer(BufferId b) const { return buffers_[b]; }

 private:
  std::vector<Bytes> cuts_;  // addresses, those of the spaces one after the other
  std::array<std::vector<int>, 3> first_use_;
  std::vector<Run> runs_, buffers_;
};

}  // namespace trainx::program
