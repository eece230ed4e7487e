#pragma once
#include "graph/lowered_block.hpp"

namespace trainx::graph {

using operations::Slot;

/// Slots that a phase uses, each once: reads first, then what it writes.
class Uses {
 public:
  void read(Slot s) { note(s, program::How::read); }
  void write(Slot s, program::How how) { note(s, how); }
  std::vector<program::SlotUse> list() const;

 private:
  void note(Slot s, program::How how);
  std::vector<program::SlotUse> uses_;
};

}  // namespace trainx::graph
