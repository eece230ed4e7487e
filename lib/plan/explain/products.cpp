#include "plan/explain/products.hpp"
#include "core/units.hpp"
#include "graph/to_blocks.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/precision.hpp"
#include "plan/weight_casts.hpp"
#include <cstdio>
#include <set>
#include <vector>

namespace trainx::plan {

namespace {

/// Names of the small products' weights. A star replaces layer numbers.
std::string small_weights(const std::vector<graph::Fp8Product>& products) {
  std::set<std::string> names;
  for (const graph::Fp8Product& p : products) {
    if (!p.gains_nothing) continue;
    std::string name;
    for (const char c : p.weight)
      if (c < '0' || c > '9')
        name += c;
      else if (name.empty() || name.back() != '*')
        name += '*';
    names.insert(name);
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// How often copies of weights are made that all instructions of a step read.
std::string words_of_casts(const program::ModelGraph& graph) {
  bool in_steps = false, in_runs = false;
  for (const auto& block : graph.composition->blocks)
    for (const operations::BoundOp& op : block->forward)
      if (const auto* linear = std::get_if<operations::Linear>(&op.operation);
          linear && linear->fp8 && linear->fp8->casts_once())
        (linear->fp8->casts_once_a_run() ? in_runs : in_steps) = true;
  return !in_runs   ? "; weights are cast once a step"
         : in_steps ? "; trained weights are cast once a step, the others once a run"
                    : "; weights are cast once a run";
}

}  // namespace

std::string describe_products(const RunPlan& plan) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off) return "";
  const PlacedProgram& longest = plan.role().train.back();
  const Fp8Count in_fp8 = count_fp8(longest.graph, which);
  const auto& products = longest.graph.composition->fp8_products;
  const std::string compute(name_of(plan.compute));
  if (in_fp8.layers == 0 && in_fp8.small > 0)
    return compute + ": none of " + std::to_string(products.size()) +
           " products is faster in fp8 with its casts, at " + std::to_string(longest.graph.tokens) +
           " tokens in a micro-batch (precision.small_products: fp8 uses it anyway)";
  // no other operation keeps bytes; the first micro-step's, and the copies that all of them read
  std::int64_t kept = 0, copies = 0, gathered = 0, on_host = 0;
  for (const program::Buffer& b : longest.program.buffers) {
    if (b.role == program::Role::saved && b.dtype == DType::u8 && b.micro <= 0) kept += b.bytes();
    if (b.role == program::Role::cast_weight && b.micro == program::none) copies += b.bytes();
  }
  for (const program::Instruction& i : longest.program.once)
    if (i.op == program::Op::copy && plan.on_gpu)
      on_host += program::bytes_of(longest.program, i.uses.front());
  for (const program::GroupSpec& group : longest.graph.groups)
    if (group.fp8) gathered += group.elements * size_of(DType::u8);
  return "fp8 in " + std::to_string(in_fp8.layers) + " of " +
         std::to_string(longest.graph.layers()) + " layers: " +
         (plan.recipe.precision.scaling == recipe::Scaling::blocks
              ? "e4m3 inputs, weights and output gradients, scales of 128 elements and of "
                "128 x 128 of weights"
              : "e4m3 inputs and weights, e5m2 output gradients, a scale for each tensor") +
         (kept > 0 ? "; " + human_bytes(kept) + " of inputs kept for backward" : "") +
         (casts_weights_once(plan) ? words_of_casts(longest.graph)
          : gathered > 0           ? "; each rank casts its parts of " + human_bytes(gathered) +
                               " of weights once a step, and gathers them so"
                         : "") +
         (copies > 0 ? ", into " + human_bytes(copies) : "") +
         (on_host > 0 ? ", and " + human_bytes(on_host) + " of " + compute + " stay on the host"
                      : "") +
         (in_fp8.small > 0 ? "; " + std::to_string(in_fp8.small) + " of " +
                                 std::to_string(products.size()) + " products stay in " + compute +
                                 ", which is faster than fp8 with its casts "
                                 "(precision.small_products): " +
                                 small_weights(products)
                           : "") +
         (in_fp8.left_out > 0
              ? "; " + std::to_string(in_fp8.left_out) + " of " + std::to_string(products.size()) +
                    " products fell back to " + compute + " (precision.fallback)"
              : "") +
         (in_fp8.others > 0
              ? "; " + std::to_string(in_fp8.others) + " matrices of weights stay in " + compute +
                    ": a size of theirs, or the tokens of a micro-batch, are no "
                    "multiple of 16"
              : "");
}

std::string describe_fp8_rate(const RunPlan& plan) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (!plan.on_gpu || !plan.rates || count_fp8(plan.role().train.back().graph, which).layers == 0)
    return "";
  char times[16];
  std::snprintf(times, sizeof times, "%.1f", plan.rates->fp8_speedup);
  return ", those of fp8 at " + std::string(times) + " times the rate of bf16 (an estimate)";
}

}  // namespace trainx::plan
