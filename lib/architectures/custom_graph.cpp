#include "core/error.hpp"
#include "architectures/custom.hpp"
#include "graph/group_builder.hpp"
#include <cmath>

namespace trainx::architectures {

using program::BlockSpec;
using program::Bytes;
using program::How;
using program::ModelGraph;
using program::Op;
using program::Phase;
using program::Role;
using program::Slot;
using S = ModuleSlot;

namespace {

Bytes between(Bytes low, Bytes high, double share) {
  return low + static_cast<Bytes>(std::ceil(share * static_cast<double>(high - low)));
}

/// The described shape, or one between two described ones: bytes grow with the micro-batch in a
/// straight line.
CustomShape shape_for(const CustomDims& dims, std::int64_t B, std::int64_t T, DType compute) {
  const CustomShape *below = nullptr, *above = nullptr;
  for (const CustomShape& s : dims.shapes) {
    if (s.length != T || s.compute != compute) continue;
    if (s.micro_batch_size <= B && (!below || s.micro_batch_size > below->micro_batch_size))
      below = &s;
    if (s.micro_batch_size >= B && (!above || s.micro_batch_size < above->micro_batch_size))
      above = &s;
  }
  if (!below || !above)
    throw InternalError("model " + dims.options.name + " is not described for micro-batches of " +
                        std::to_string(B) + " times " + std::to_string(T) + " tokens");
  CustomShape made = *above;
  if (below == above) return made;
  const double share = static_cast<double>(B - below->micro_batch_size) /
                       static_cast<double>(above->micro_batch_size - below->micro_batch_size);
  made.micro_batch_size = B;
  made.library_bytes = between(below->library_bytes, above->library_bytes, share);
  for (std::size_t k = 0; k < made.modules.size(); ++k) {
    made.modules[k].output.front() = B;
    made.modules[k].graph_bytes =
        between(below->modules.at(k).graph_bytes, above->modules[k].graph_bytes, share);
  }
  return made;
}

/// Matrices and embeddings decay and come first; biases and norm parameters do not.
program::GroupSpec group_of(const CustomModule& m) {
  program::GroupSpec group{.name = m.name};
  for (const bool decay : {true, false})
    for (const CustomParameter& p : m.parameters)
      if ((p.dims.size() >= 2) == decay)
        graph::add(group, {.name = m.name + "." + p.name,
                           .dims = p.dims,
                           .decay = decay,
                           .initializer = program::Initializer::constructed});
  return group;
}

struct Chain {
  const ModelGraph& graph;
  const CustomShape& shape;
  std::vector<int> groups;  // of each module; none

  BlockSpec block(int k) const {
    const CustomModule& m = shape.modules[k];
    const bool first = k == 0, last = k + 1 == static_cast<int>(shape.modules.size()),
               has_parameters = groups[k] != program::none;
    BlockSpec b{.name = m.name, .layer = last ? program::none : k};
    b.slots.assign(S::count, {.name = "unused",
                              .role = Role::scratch,
                              .tensor = {.name = "unused", .dtype = DType::u8, .dims = {0}}});
    auto slot = [&](Slot s, std::string name, Role role, int index, program::TensorSpec tensor) {
      tensor.name = name;
      b.slots[s] = {
          .name = std::move(name), .role = role, .index = index, .tensor = std::move(tensor)};
    };
    auto value = [&](Slot s, const char* name, Role role, int index) {
      slot(s, name, role, index, graph.values[index]);
    };
    auto batch = [&](Slot s, int index) {
      slot(s, graph.batch[index].name, Role::batch, index, graph.batch[index]);
    };
    if (first)
      batch(S::input, CustomBatch::tokens);
    else
      value(S::input, "input", Role::value, k - 1),
          value(S::d_input, "d_input", Role::value_gradient, k - 1);
    batch(S::positions, CustomBatch::positions);
    std::vector<Slot> inputs{S::input, S::positions};
    if (has_parameters) {
      const program::GroupSpec& group = graph.groups[groups[k]];
      slot(S::parameters, group.name, Role::parameter, groups[k],
           {.dtype = graph.compute, .dims = {group.elements}});
      slot(S::d_parameters, "d_" + group.name, Role::gradient, groups[k],
           {.dtype = DType::f32, .dims = {group.elements}});
      inputs.push_back(S::parameters);
    }
    auto read = [](Phase& phase, const std::vector<Slot>& slots) {
      for (const Slot s : slots) phase.uses.push_back({s, How::read});
    };
    auto gradients = [&](Phase& phase) {
      if (!first) phase.uses.push_back({S::d_input, How::overwrite});
      if (has_parameters) phase.uses.push_back({S::d_parameters, How::accumulate});
    };
    if (last) {
      batch(S::targets, CustomBatch::targets);
      for (int i = 0; i < static_cast<int>(graph.scalars.size()); ++i)
        slot(S::loss_sum + i, graph.scalars[i].name, graph.scalars[i].role, i, graph.scalars[i]);
      for (const Op op : {Op::loss, Op::evaluate}) {
        Phase& phase = b.phases[op];
        read(phase, inputs);
        read(phase, {S::targets});
        if (op == Op::loss) gradients(phase);
        for (const Slot s : {S::loss_sum, S::target_count})
          phase.uses.push_back({s, How::accumulate});
        if (op == Op::evaluate && graph.scalars.size() > CustomScalars::confusion)
          phase.uses.push_back({S::confusion, How::accumulate});
      }
      return b;
    }
    value(S::value_out, "value_out", Role::value, k);
    value(S::d_value_out, "d_value_out", Role::value_gradient, k);
    slot(S::graph, "graph", Role::saved, program::none,
         {.dtype = DType::u8, .dims = {std::max<Bytes>(m.graph_bytes, 1)}});
    b.slots[S::graph].space = program::Space::library;
    b.slots[S::value_out].from = b.slots[S::graph].from = inputs;
    Phase& forward = b.phases[Op::forward];
    read(forward, inputs);
    for (const Slot s : {S::value_out, S::graph}) forward.uses.push_back({s, How::overwrite});
    // what autograd keeps refers to the operands
    Phase& backward = b.phases[Op::backward];
    read(backward, {S::input, S::graph, S::d_value_out});
    if (has_parameters) read(backward, {S::parameters});
    gradients(backward);
    return b;
  }
};

}  // namespace

ModelGraph custom_graph(const CustomDims& dims, std::int64_t B, std::int64_t T, DType compute) {
  const CustomShape shape = shape_for(dims, B, T, compute);
  ModelGraph graph;
  graph.compute = compute;
  graph.tokens = B * T;
  graph.library_bytes = shape.library_bytes;
  const bool classification = dims.task == Task::classification;
  graph.batch = {{"tokens", DType::i32, {B, T}},
                 {"positions", DType::i64, {B}},
                 {classification ? "labels" : "targets", DType::i32, {B}}};
  if (!classification) graph.batch.back().dims.push_back(T);
  graph.scalars = {program::scalar(Role::loss_sum), program::scalar(Role::target_count)};
  if (classification)
    graph.scalars.push_back(program::metric("confusion", {dims.num_labels, dims.num_labels}));
  Chain chain{graph, shape, {}};
  for (const CustomModule& m : shape.modules) {
    chain.groups.push_back(m.parameters.empty() ? program::none
                                                : static_cast<int>(graph.groups.size()));
    if (!m.parameters.empty()) graph.groups.push_back(group_of(m));
    if (&m != &shape.modules.back()) graph.values.push_back({m.name + ".out", compute, m.output});
  }
  for (std::size_t k = 0; k < shape.modules.size(); ++k)
    graph.blocks.push_back(chain.block(static_cast<int>(k)));
  return graph;
}

}  // namespace trainx::architectures
