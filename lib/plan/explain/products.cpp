#include "plan/explain/products.hpp"
#include "core/units.hpp"
#include "graph/to_blocks.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/precision.hpp"
#include "plan/weight_casts.hpp"
#include <cstdio>

namespace trainx::plan {

std::string describe_products(const RunPlan& plan) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off) return "";
  const PlacedProgram& longest = plan.train.back();
  const Fp8Count in_fp8 = count_fp8(longest.graph, which);
  // no other operation keeps bytes; the first micro-step's, and the copies that all of them read
  std::int64_t kept = 0, copies = 0, gathered = 0;
  for (const program::Buffer& b : longest.program.buffers) {
    if (b.role == program::Role::saved && b.dtype == DType::u8 && b.micro <= 0) kept += b.bytes();
    if (b.role == program::Role::cast_weight && b.micro == program::none) copies += b.bytes();
  }
  for (const program::GroupSpec& group : longest.graph.groups)
    if (group.fp8) gathered += group.elements * size_of(DType::u8);
  return "fp8 in " + std::to_string(in_fp8.layers) + " of " +
         std::to_string(longest.graph.layers()) + " layers: " +
         (plan.recipe.precision.scaling == recipe::Scaling::blocks
              ? "e4m3 inputs, weights and output gradients, scales of 128 elements and of "
                "128 x 128 of weights"
              : "e4m3 inputs and weights, e5m2 output gradients, a scale for each tensor") +
         (kept > 0 ? "; " + human_bytes(kept) + " of inputs kept for backward" : "") +
         (casts_weights_once(plan) ? "; weights are cast once a step"
          : gathered > 0           ? "; each rank casts its parts of " + human_bytes(gathered) +
                               " of weights once a step, and gathers them so"
                         : "") +
         (copies > 0 ? ", into " + human_bytes(copies) : "") +
         (in_fp8.left_out > 0 ? "; " + std::to_string(in_fp8.left_out) + " of " +
                                    std::to_string(longest.graph.composition->fp8_products.size()) +
                                    " products fell back to " + std::string(name_of(plan.compute)) +
                                    " (precision.fallback)"
                              : "") +
         (in_fp8.others > 0
              ? "; " + std::to_string(in_fp8.others) + " matrices of weights stay in " +
                    std::string(name_of(plan.compute)) +
                    ": a size of theirs, or the tokens of a micro-batch, are no "
                    "multiple of 16"
              : "");
}

std::string describe_fp8_rate(const RunPlan& plan) {
  if (!plan.on_gpu || !plan.rates || fp8_layers_of(plan.recipe.precision) == graph::Fp8Layers::off)
    return "";
  char times[16];
  std::snprintf(times, sizeof times, "%.1f", plan.rates->fp8_speedup);
  return ", those of fp8 at " + std::string(times) + " times the rate of bf16 (an estimate)";
}

}  // namespace trainx::plan
