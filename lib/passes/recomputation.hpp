// What recomputing dropped operands of a block takes, followed backwards through SlotSpec::from.
#pragma once
#include "program/model_graph.hpp"

namespace trainx::passes {

/// The slots that one recompute instruction uses, in the order of the block's forward.
struct Recomputation {
  std::vector<program::Slot> reads;    // at hand: inputs of the forward, kept operands
  std::vector<program::Slot> rebuilt;  // asked for
  std::vector<program::Slot> passing;  // rebuilt on the way and needed by nobody else
  bool empty() const { return rebuilt.empty(); }
};

/// `wanted[slot]`: to be rebuilt; `kept[slot]`: written by the forward and still there.
Recomputation plan_recomputation(const program::BlockSpec& block, const std::vector<char>& wanted,
                                 const std::vector<char>& kept);

}  // namespace trainx::passes
