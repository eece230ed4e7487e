// Programs of what was decided: training's and evaluation's, placed and ordered.
#pragma once
#include "passes/passes.hpp"
#include "plan/duties.hpp"
#include "program/order.hpp"

namespace trainx::plan {

/// A resident of another stage of a pipeline.
struct KeptElsewhere {
  program::Buffer buffer;
  int stage = 0;
};

/// A program with everything placed and ordered.
struct PlacedProgram {
  program::ModelGraph graph;
  program::StepProgram program;
  program::Placement placement;
  program::Order order;
  // in the program: fewer than run where plans leave out like ones
  int micro_steps = 1;
  // of stages: residents of the groups that this one does not keep, as the first that does has them
  std::vector<KeptElsewhere> elsewhere = {};
  // of stages: by group, the first that keeps it
  std::vector<int> stage_of_group = {};
};

/// Of one rank. One for each of Draft::row_lengths, all in one arena, residents at the same
/// addresses; ranks that evaluate nothing have no programs for it.
struct Programs {
  std::vector<PlacedProgram> train, evaluate;
};

/// memory.activation_checkpoint and memory.recompute_segment as the pass takes them. Throws
/// InternalError if the level is still auto.
passes::RecomputeLevels recompute_levels(const recipe::MemorySection& memory);

/// What computes the run's blocks, and what it trains.
architectures::GraphOptions graph_options_of(const Draft& plan);

/// Of a micro-batch of rows of `length` tokens, computed in `compute`.
program::ModelGraph graph_of(const Draft& plan, std::int64_t length, DType compute);

/// How much of its programs a plan needs. Candidates of a search need less than what is run.
enum class Extent : std::uint8_t {
  ///< the training program with its order: what a step takes; Programs::evaluate stays empty
  training,
  bytes,      ///< both programs, in no order: what memory they take
  candidate,  ///< both programs, training's with its order: memory and time
  whole,      ///< both programs with their orders: what is run
};

/// A pure function of what is decided; it decides nothing. `of`: the role's duties; unless they are
/// given, those of the first rank.
Programs plan_programs(const Draft& plan, Extent extent = Extent::whole, const Duties& of = {});

/// What a step copies to the host of activations.
std::int64_t offloaded_bytes(const program::StepProgram& p);
struct DiskCopies {
  std::int64_t from = 0, to = 0;
};
/// What a step copies for an optimizer on the host: gradients to it, weights back; and of what is
/// kept on the disk.
struct OptimizerCopies {
  std::int64_t gradients_out = 0, weights_back = 0;
  DiskCopies disk;
};
OptimizerCopies optimizer_copies(const program::StepProgram& p);
/// What a step copies of weights that lie on the host: to blocks and updates, and back from
/// updates; and of those on the disk.
struct ParameterCopies {
  std::int64_t in = 0, out = 0;
  DiskCopies disk;
};
ParameterCopies parameter_copies(const program::StepProgram& p);

/// Of the matrix products and the attention of one step, without what is recomputed.
double step_flops(const PlacedProgram& placed);

}  // namespace trainx::plan
