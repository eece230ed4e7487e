#include "plan/weight_casts.hpp"
#include "plan/choose/offload.hpp"
#include "plan/precision.hpp"
#include "operations/linear/linear_spec.hpp"
#include <algorithm>

namespace trainx::plan {

bool casts_weights_once(const Draft& plan) {
  return fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::off && plan.zero_stage() != 3 &&
         !offloads_weights(plan) && plan.casts_weights_once;
}

bool casts_weights_once_a_run(const Draft& plan) {
  if (!casts_weights_once(plan) || plan.zero_stage() > 0 || plan.mode == recipe::ParallelMode::dp)
    return false;
  const auto multiplies = [&](std::int64_t length) {
    return plan.batch.micro_batch_size * length % operations::gpu_fp8_multiple == 0;
  };
  return !plan.on_gpu || (std::ranges::all_of(plan.row_lengths, multiplies) &&
                          std::ranges::all_of(plan.target_lengths(), multiplies));
}

bool casts_weights_before_gathers(const Draft& plan) {
  return fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::off && plan.zero_stage() == 3 &&
         plan.mesh.tensor == 1 &&
         fp8_scaling_of(plan.recipe.precision) != operations::Fp8Scaling::blocks &&
         !offloads_weights(plan) && plan.casts_weights_once;
}

operations::Fp8WeightCasts weight_casts_of(const Draft& plan) {
  return casts_weights_once_a_run(plan)       ? operations::Fp8WeightCasts::once_a_run
         : casts_weights_once(plan)           ? operations::Fp8WeightCasts::once_a_step
         : casts_weights_before_gathers(plan) ? operations::Fp8WeightCasts::before_gathers
                                              : operations::Fp8WeightCasts::in_each_use;
}

}  // namespace trainx::plan
