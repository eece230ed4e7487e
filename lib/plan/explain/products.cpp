#include "plan/explain/products.hpp"
#include "core/units.hpp"
#include "plan/precision.hpp"

namespace trainx::plan {

std::string describe_products(const RunPlan& plan) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off) return "";
  const PlacedProgram& longest = plan.train.back();
  const int layers = longest.graph.layers(),
            in_fp8 = which == graph::Fp8Layers::all ? layers : layers - 2;
  // no other operation keeps bytes
  std::int64_t kept = 0;
  for (const program::Buffer& b : longest.program.buffers)
    if (b.role == program::Role::saved && b.dtype == DType::u8) kept += b.bytes();
  return "fp8 in " + std::to_string(in_fp8) + " of " + std::to_string(layers) +
         " layers: e4m3 inputs and weights, e5m2 output gradients, a scale for each tensor" +
         (kept > 0 ? "; " + human_bytes(kept) + " of inputs kept for backward" : "");
}

}  // namespace trainx::plan
