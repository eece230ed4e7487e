#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// What a node says of itself.
struct NodeFacts {
  operations::Types types;
  std::vector<operations::OutputSpec> outputs;
  operations::BackwardSpec backward;
};

/// Which values pass between blocks, and where their gradients lie.
struct ValueMap {
  explicit ValueMap(const Model& model);

  std::vector<std::vector<NodeFacts>> facts;  // by block and node
  std::vector<int> producer;      // by value: the block that makes it; none: the batch's
  std::vector<ValueId> crossing;  // values that later blocks read, as they are made
  std::vector<int> index;         // by value: its place in `crossing`, or none
  /// By value: the crossing value whose gradient's buffer holds its gradient. A branch without
  /// dropout has its sum's, and so its residual's.
  std::vector<ValueId> home;
  /// By value: it depends on what is trained, so that backward makes its gradient.
  std::vector<char> wanted;
  std::vector<int> last_writer;  // by home: the last block whose backward writes that buffer
  std::vector<char> outside;     // by value: a later block brings a gradient of it
};

/// The value that the gradient of input `i` belongs to.
inline ValueId target_of(const Node& op, int i) {
  const auto at = static_cast<std::size_t>(i);
  return op.gradient_of.empty() ? op.inputs[at] : op.gradient_of[at];
}

}  // namespace trainx::graph
