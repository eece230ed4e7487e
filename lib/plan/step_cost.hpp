// What a step costs that is cut otherwise, or of a model of other sizes: predicted without placing it.
#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// What a step's time depends on beside the recipe's precision, optimizer and memory section.
struct StepShape {
  spec::ModelDims dims;
  std::int64_t micro_batch_size = 0, grad_accum_steps = 0, length = 0;
  std::int64_t tokens() const { return micro_batch_size * grad_accum_steps * length; }
};
StepShape shape_of(const RunPlan& plan);

/// What loses most to tiles, over all products of its sizes.
struct WorstProduct { program::Gemm product; double lost_s = 0; };

struct StepCost {
  double seconds = 0;
  double tiles_lost_s = 0;              // of them: multiprocessors that idle in last waves of tiles, tiles beyond edges
  double unaligned_lost_s = 0;          // rows that are no whole multiple of 16 bytes
  double heads_lost_s = 0;              // heads of a size that attention's kernels are not made for
  WorstProduct worst;
  double lost_s() const { return tiles_lost_s + unaligned_lost_s + heads_lost_s; }
};
/// On the plan's GPU, whose rates must be known.
StepCost step_cost(const RunPlan& plan, const StepShape& shape);

/// All memory that a run of this shape takes. `plan` gives the rest.
std::int64_t bytes_of(const RunPlan& plan, const StepShape& shape);

}  // namespace trainx::plan
