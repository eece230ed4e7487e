// Layers are alike: a block that only numbers its operands differently from one of the layer before
// need not be derived again.
#pragma once
#include "graph/lowered_block.hpp"
#include <optional>

namespace trainx::graph {

struct Repetition {
  int block = none;            // the one that is alike
  int values = 0, groups = 0;  // by how much crossing values and groups are numbered higher
};

/// The block of the same part in the layer before, if its operations, the types of their operands
/// and the way of its gradients are the same.
std::optional<Repetition> repetition_of(const Lowering& of);

/// That block's spec with this one's numbers and names.
program::BlockSpec repeated(const Lowering& of, const Repetition& like,
                            const program::BlockSpec& spec);

}  // namespace trainx::graph
