// The programs that passes start from: one micro-step, one rank, everything kept.
#pragma once
#include "program/states.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::program {

/// Where the exact fp32 weight lives: in the parameter itself, in a copy beside a bf16 parameter,
/// or as the low 16 bits that a bf16 parameter lacks.
enum class Master : std::uint8_t { absent, fp32, split };
/// Which it is that a buffer of Role::master holds.
constexpr Master master_kind(const Buffer& master) {
  return master.dtype == DType::f32 ? Master::fp32 : Master::split;
}
struct UpdateSpec {
  std::vector<StateSpec> states;
  Master master = Master::absent;
  std::int64_t lr_table_entries = 1;  // f64 learning rates by applied step
  Unit unit = Unit::element;
  std::vector<TensorSums> sums;  // of Unit::tensor
  /// Which of the states averages the weights; none: none does.
  int average() const {
    for (std::size_t s = 0; s < states.size(); ++s)
      if (states[s].averages_weights) return static_cast<int>(s);
    return none;
  }
  /// How often it sums over a whole tensor; 0: it never has to.
  int rounds() const {
    return unit == Unit::tensor ? std::max(1, static_cast<int>(sums.size())) : 0;
  }
};

/// fetch, forward.., loss, backward.., advance_step, grad_norm, update.., advance_applied, report;
/// after it kept scalars advance, so that it tells what the step used. Gradients are fp32.
/// Of groups that are not trained there are parameters alone.
/// Resident: parameters, masters, states, the scalars step and applied (i64), lr_table, kept
/// scalars of the graph, copies of weights that are cast once a run; they are the first buffers.
/// `once` makes the copies.
StepProgram plain_program(const ModelGraph& graph, const UpdateSpec& update);

/// Forward without keeping anything and `last` (evaluate or predict) of the last block. Its first
/// buffers are the resident ones of `train`, with the same ids, so that both live in one arena.
/// Loss sums are accumulated into the graph's scalars, which `report` hands out (evaluate); predict
/// leaves its outputs in non-resident buffers that the executor's caller reads. Where the graph's
/// parameters are stored in another type than it computes in, they are cast right before the blocks
/// that use them. `average`: which state blocks compute with instead of the parameters that it
/// averages; none: with those.
StepProgram forward_program(const StepProgram& train, const ModelGraph& graph, Op last,
                            int average = none);

/// The first writer of each gradient and accumulated scalar overwrites, later ones accumulate:
/// derived from the order of writers in `steady`.
void first_writer_overwrites(StepProgram& p);

}  // namespace trainx::program
