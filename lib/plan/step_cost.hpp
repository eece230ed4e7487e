// Predicted cost of a step with another cut or other model sizes, without placing buffers.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Inputs of a step's time besides precision, optimizer and memory section.
struct StepShape {
  architectures::ModelDims dims;
  std::int64_t micro_batch_size = 0, grad_accum_steps = 0, length = 0;
  std::int64_t tokens() const { return micro_batch_size * grad_accum_steps * length; }
};
StepShape shape_of(const Draft& plan);

/// The matrix product that loses most time to tiles, summed over all of its size.
struct WorstProduct {
  program::Gemm product;
  double lost_s = 0;
};

struct StepCost {
  double seconds = 0;
  double tiles_lost_s = 0;      // idle multiprocessors in last waves, tiles beyond edges
  double unaligned_lost_s = 0;  // rows that are not multiples of 16 bytes
  double heads_lost_s = 0;      // head sizes without a matching attention kernel
  WorstProduct worst;
  double lost_s() const { return tiles_lost_s + unaligned_lost_s + heads_lost_s; }
};
/// Cost on the plan's GPU. Throws InternalError if its rates are unknown.
StepCost step_cost(const Draft& plan, const StepShape& shape);

/// Have ranks that share a batch equal rows of micro-batches of this shape?
bool ranks_can_share(const Draft& plan, const StepShape& shape);

/// Total memory of a run of this shape; everything else is as in `plan`.
std::int64_t bytes_of(const Draft& plan, const StepShape& shape);

}  // namespace trainx::plan
