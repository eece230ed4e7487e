// Programs of ranks that share a batch: what their tests build and ask alike.
#pragma once
#include <initializer_list>
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include "support/catch.hpp"
#include "support/toy/prove.hpp"

namespace toy {

/// Exchanges: `in` becomes `out`, and the gradient of `out` that of `in`, unless it has none.
inline BlockSpec exchange(const std::string& name, ExchangeKind kind, int in, int out) {
  BlockSpec b{name, 0};
  b.exchange = kind;
  b.slots = {slot("in", Role::value, in), slot("out", Role::value, out, {0})};
  b.phases[Op::forward].uses = {{0, How::read}, {1, How::overwrite}};
  if (kind == ExchangeKind::numbers_to_all) return b;
  b.slots.push_back(slot("d_in", Role::value_gradient, in));
  b.slots.push_back(slot("d_out", Role::value_gradient, out));
  b.phases[Op::backward].uses = {{3, How::read}, {2, How::overwrite}};
  return b;
}

/// A loss made of what all ranks have, its gradient of one's own.
inline BlockSpec loss_of_parts(int own, int all) {
  BlockSpec b{"loss"};
  b.slots = {slot("own", Role::value, own),
             slot("all", Role::value, all),
             slot("target", Role::batch, 1),
             slot("d_own", Role::value_gradient, own),
             slot("loss_sum", Role::loss_sum, 0, {1, 2}),
             slot("target_count", Role::target_count, 1, {2})};
  b.phases[Op::loss].uses = {{0, How::read},      {1, How::read},       {2, How::read},
                             {3, How::overwrite}, {4, How::accumulate}, {5, How::accumulate}};
  return b;
}

/// Each rank computes with its own part alone of each block.
inline void share_blocks(ModelGraph& graph, Parts parts) {
  for (BlockSpec& b : graph.blocks) {
    b.parts.along = parts.along;
    b.parts.count = parts.count;
    b.parts.own_alone = true;
  }
}

/// `world` ranks, of which `tensor` have parts of layers and `context` tokens of rows.
inline Mesh mesh_of_sharing(int world, int tensor, int context) {
  Mesh mesh(world, 1);
  mesh.tensor = tensor;
  mesh.context = context;
  return mesh;
}

constexpr int sharing_micro_steps = 2;

inline StepProgram sharing_plain(const ModelGraph& graph, const Mesh& mesh,
                                 const UpdateSpec& update = momentum()) {
  StepProgram p = passes::accumulation(plain_program(graph, update), sharing_micro_steps);
  return passes::redistribute(std::move(p), graph, update, mesh);
}

inline StepProgram sharing_in_ddp(const ModelGraph& graph, const Mesh& mesh,
                                  const UpdateSpec& update = momentum()) {
  return passes::distributed_data_parallel(sharing_plain(graph, mesh, update), {mesh});
}

inline StepProgram sharing_in_shards(const ModelGraph& graph, const Mesh& mesh, int stage,
                                     const UpdateSpec& update = momentum()) {
  return passes::zero(sharing_plain(graph, mesh, update), graph, update, {mesh}, {stage, 1});
}

/// What the check says of a program, against one rank that computes all of it.
inline std::string problem_of_sharing(const StepProgram& p, const ModelGraph& graph,
                                      const UpdateSpec& update = momentum()) {
  const Reference reference{&graph, update, sharing_micro_steps};
  return check_program(p, unplaced(p), &reference);
}

inline void check_that_each_instruction_is_needed(const ModelGraph& graph, const StepProgram& p,
                                                  const UpdateSpec& update = momentum()) {
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    StepProgram without = p;
    without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CAPTURE(p.mesh.world, k, name_of(p.steady[k].op));
    CHECK(problem_of_sharing(without, graph, update) != "");
  }
}

/// Each sum and exchange is made among other ranks, one at a time.
inline void check_that_axes_matter(const ModelGraph& graph, const StepProgram& p,
                                   std::initializer_list<AxisSet> others,
                                   const UpdateSpec& update = momentum()) {
  int tried = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (!is_collective(p.steady[k].op)) continue;
    for (const AxisSet along : others) {
      if (p.mesh.significant(along) == p.mesh.significant(p.steady[k].along)) continue;
      CAPTURE(k, name_of(p.steady[k].op), name_of(p.steady[k].along), name_of(along));
      StepProgram among_others = p;
      among_others.steady[k].along = along;
      CHECK(problem_of_sharing(among_others, graph, update) != "");
      ++tried;
    }
  }
  CHECK(tried > 0);
}

inline int count_of(const StepProgram& p, Op op, AxisSet along) {
  int all = 0;
  for (const Instruction& i : p.steady) all += i.op == op && i.along == along;
  return all;
}

}  // namespace toy
