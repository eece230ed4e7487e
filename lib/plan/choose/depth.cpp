#include "plan/choose/depth.hpp"
#include "architectures/architecture.hpp"
#include "plan/custom_dims.hpp"
#include "plan/programs.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {

int Depth::most() const { return whole() + static_cast<int>(std::ceil(std::sqrt(layers))) - 1; }

void Depth::write(int depth, Decisions& choice) const {
  const int level = std::min(depth, whole()) / layers, more = std::min(depth, whole()) % layers;
  const auto at = [&](int k) {
    return levels[std::min(static_cast<std::size_t>(k), levels.size() - 1)];
  };
  std::vector<RecomputeLevel> of_layers(static_cast<std::size_t>(layers), at(level));
  std::fill_n(of_layers.begin(), more, at(level + 1));
  const bool any_full = std::ranges::count(of_layers, RecomputeLevel::full) > 0;
  choice.levels = compressed(std::move(of_layers));
  choice.segment =
      any_full ? std::max<std::int64_t>(least_segment, depth > whole() ? depth - whole() + 1 : 1)
               : 1;
}

Depth depth_of(const Draft& plan) {
  Depth depth;
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  if (custom) depth.levels = possible_levels(*custom);
  // of several micro-steps, which stages have under way, modules keep no graphs: stages.hpp
  if (custom && plan.mesh.pipeline > 1) depth.levels = {RecomputeLevel::full};
  depth.layers = std::max(
      1, architectures::model_graph(
             plan.dims, 1, plan.row_lengths.back(), plan.compute,
             custom ? graph_options_of(plan) : architectures::GraphOptions::on_cpu(plan.threads))
             .layers());
  depth.least_segment = plan.recipe.memory.recompute_segment;
  return depth;
}

std::vector<RecomputeLevel> compressed(std::vector<RecomputeLevel> levels) {
  if (std::ranges::all_of(levels, [&](RecomputeLevel l) { return l == levels.front(); }))
    levels.resize(1);
  return levels;
}

}  // namespace trainx::plan
