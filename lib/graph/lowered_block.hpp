// A block of a model on its way to a block of the step program.
#pragma once
#include "graph/groups.hpp"
#include "graph/model.hpp"
#include "graph/value_map.hpp"

namespace trainx::graph {

/// What is lowered: a block of a model, whose groups, values and batch `graph` has already.
struct Lowering {
  const Model& model;
  const ValueMap& map;
  const program::ModelGraph& graph;
  const std::vector<ParameterPlaces::Place>& places;
  int number = 0;

  const Block& block() const { return model.blocks[static_cast<std::size_t>(number)]; }
  const ModelValue& value(ValueId v) const { return model.values[static_cast<std::size_t>(v)]; }
  bool is_made_here(ValueId v) const { return map.producer[static_cast<std::size_t>(v)] == number; }
  int crossing(ValueId v) const { return map.index[static_cast<std::size_t>(v)]; }
};

struct LoweredBlock {
  program::BlockSpec spec;
  operations::BoundBlock bound;
};

/// A block of a layer or of the embedding: forward and backward.
LoweredBlock lower_layer(const Lowering& of);
/// The last block: loss, evaluate and predict, some rows at a time.
LoweredBlock lower_head(const Lowering& of);

}  // namespace trainx::graph
