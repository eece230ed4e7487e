#include "graph/to_blocks.hpp"
#include "core/error.hpp"
#include "graph/groups.hpp"
#include "graph/lowered_block.hpp"
#include "graph/repetition.hpp"
#include "graph/value_map.hpp"

namespace trainx::graph {

using program::ModelGraph;
using program::Role;

namespace {

void add_scalars(ModelGraph& graph, const Model& model) {
  graph.scalars = {program::scalar(Role::loss_sum), program::scalar(Role::target_count)};
  graph.scalars.insert(graph.scalars.end(), model.scores.begin(), model.scores.end());
  if (model.loads) graph.scalars.push_back(*model.loads);
  if (model.fp8_counts) graph.scalars.push_back(*model.fp8_counts);
  if (model.fp8_ranges) graph.scalars.push_back(*model.fp8_ranges);
  if (model.fp8_scales) graph.scalars.push_back(*model.fp8_scales);
  // last: evaluations in another type know all others by the same numbers
  if (model.scaled) graph.scalars.push_back(program::scalar(Role::loss_scale));
}

void add_values(ModelGraph& graph, const Model& model, const ValueMap& map) {
  for (const ValueId v : map.crossing) {
    const ModelValue& value = model.values[static_cast<std::size_t>(v)];
    graph.values.push_back({value.name, value.type.dtype, value.type.dims});
  }
  if (model.head.predicted_rows > 0)
    graph.values.push_back({"logits", DType::f32, {model.head.predicted_rows, model.head.classes}});
}

}  // namespace

ModelGraph to_blocks(const Model& model) {
  ModelGraph graph;
  graph.compute = model.compute;
  graph.tokens = model.rows();
  graph.batch = model.batch;
  ParameterPlaces parameters = place_parameters(model);
  graph.groups = std::move(parameters.groups);
  const ValueMap map(model);
  add_values(graph, model, map);
  if (model.memory != none) graph.memory = map.index[static_cast<std::size_t>(model.memory)];
  graph.first_of_targets = model.first_of_targets;
  add_scalars(graph, model);
  graph.balance_rate = model.balance_rate;
  if (model.head.rows == operations::HeadRows::targets) {
    graph.target_chunk = model.head.chunk;
    graph.target_rows = model.head.expected_rows;
  }
  auto composition = std::make_shared<Composition>();
  composition->fp8_products = model.fp8_products;
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const Lowering of{model, map, graph, parameters.places, static_cast<int>(b)};
    if (const std::optional<Repetition> like = repetition_of(of)) {
      graph.blocks.push_back(
          repeated(of, *like, graph.blocks[static_cast<std::size_t>(like->block)]));
      composition->blocks.push_back(composition->blocks[static_cast<std::size_t>(like->block)]);
      continue;
    }
    LoweredBlock block = model.blocks[b].kind == BlockKind::head ? lower_head(of) : lower_layer(of);
    graph.blocks.push_back(std::move(block.spec));
    composition->blocks.push_back(
        std::make_shared<const operations::BoundBlock>(std::move(block.bound)));
  }
  for (std::size_t b = 0, continued = 0; b < model.blocks.size(); ++b) {
    continued += model.blocks[b].continues;
    if (continued > 0) graph.blocks[b].random_key = static_cast<int>(b - continued);
    graph.blocks[b].cast_number = model.blocks[b].cast_number;
  }
  graph.composition = std::move(composition);
  return graph;
}

}  // namespace trainx::graph
