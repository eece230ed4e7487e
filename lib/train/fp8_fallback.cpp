#include "train/fp8_fallback.hpp"
#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::train {
namespace {

using operations::Fp8Class;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

}  // namespace

Fp8Products::Fp8Products(const program::ModelGraph& graph) {
  if (!graph.composition) return;
  products_ = graph.composition->fp8_products;
  for (const program::ScalarSpec& s : graph.scalars)
    if (s.name == program::fp8_counts) blocks_ = s.dims.at(1), most_ = s.dims.at(2);
}

std::size_t Fp8Products::tensors() const {
  return static_cast<std::size_t>(operations::fp8_classes * blocks_ * most_);
}

std::int64_t Fp8Products::tensor(int of, int block, int number) const {
  return (of * blocks_ + block) * most_ + number;
}

void Fp8Products::add(TrainState& state, const std::vector<double>& counts) const {
  if (counts.empty()) return;
  if (tensors() == 0 || counts.size() % tensors() != 0)
    throw InternalError("counts of casts to fp8 are not those of the model's products");
  const std::size_t row = counts.size() / tensors();
  for (std::size_t t = 0; t < tensors(); ++t) {
    const double all = counts[t * row + kernels::fp8_elements],
                 saturated = counts[t * row + kernels::fp8_saturated];
    if (saturated > 0 && all > 0)
      state.fp8_saturation[static_cast<std::int64_t>(t)] += saturated / all;
  }
}

std::vector<SaturatedProduct> Fp8Products::above(double limit, std::int64_t window,
                                                 const TrainState& state) const {
  std::vector<SaturatedProduct> out;
  for (const graph::Fp8Product& p : products_) {
    if (p.left_out) continue;
    SaturatedProduct worst{.weight = p.weight};
    const auto look = [&](Fp8Class of, int number, const char* name) {
      const auto sum = state.fp8_saturation.find(tensor(static_cast<int>(of), p.block, number));
      if (sum == state.fp8_saturation.end()) return;
      const double share = sum->second / static_cast<double>(window);
      if (share > worst.share) worst.share = share, worst.tensor = name;
    };
    look(Fp8Class::inputs, p.input, "input");
    look(Fp8Class::weights, p.number, "weight");
    look(Fp8Class::gradients, p.number, "output gradient");
    if (worst.share > limit) out.push_back(worst);
  }
  return out;
}

std::string Fp8Products::cast_in_spite(const std::vector<std::string>& fallback,
                                       const std::vector<double>& counts) const {
  if (counts.empty() || tensors() == 0) return {};
  const std::size_t row = counts.size() / tensors();
  for (const graph::Fp8Product& p : products_) {
    if (std::ranges::find(fallback, p.weight) == fallback.end()) continue;
    for (const Fp8Class of : {Fp8Class::weights, Fp8Class::gradients}) {
      const auto at = static_cast<std::size_t>(tensor(static_cast<int>(of), p.block, p.number));
      if (counts.at(at * row + kernels::fp8_elements) > 0) return p.weight;
    }
  }
  return {};
}

std::string fallback_sentence(const std::vector<SaturatedProduct>& products, std::int64_t step,
                              double limit, std::int64_t window, const std::string& compute) {
  const SaturatedProduct& worst = *std::ranges::max_element(products, {}, &SaturatedProduct::share);
  const std::size_t others = products.size() - 1;
  return "step " + std::to_string(step) + ": " + percent(worst.share) + " of the elements of the " +
         worst.tensor + " of " + worst.weight +
         " were cut to the largest number of fp8 in the last " + std::to_string(window) +
         " steps, more than precision.fallback (" + percent(limit) + "); its products" +
         (others > 0 ? " and those of " + std::to_string(others) + " other matrices" : "") +
         " compute in " + compute + " from step " + std::to_string(step + 1) + " on";
}

}  // namespace trainx::train
