#include "plan/choose/fewer_layers.hpp"
#include "plan/limits.hpp"
#include <algorithm>
#include <tuple>
#include <vector>

namespace trainx::plan {
namespace {

// Of the smaller depth at least; copies and gathers overlap with the layers beside them.
constexpr std::int64_t fewest = 4, difference = 4;
// Below, two models of fewer layers take as long to plan as the whole.
constexpr std::int64_t fewest_that_gain = 16;

/// What tells layers of a model apart; one entry a layer.
using Kinds = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

template <class Dims>
Kinds kinds_of(const Dims& d) {
  Kinds kinds;
  for (std::int64_t l = 0; l < d.num_layers; ++l) {
    const auto at = static_cast<std::size_t>(l);
    if constexpr (requires { d.layer_rope; })
      kinds.emplace_back(d.layer_rope[at], d.windows[at],
                         d.experts.layers.empty() ? 0 : d.experts.layers[at]);
    else if constexpr (requires { d.global_layers; })
      kinds.emplace_back(d.rotates() && d.looks_everywhere(l), 0, 0);
    else
      kinds.emplace_back(d.has_experts(l), 0, 0);
  }
  return kinds;
}

/// Layers after which kinds repeat, and from which layer on; 0: they do not.
struct Repeat {
  std::int64_t period = 0, first = 0;
};
Repeat repeat_of(const Kinds& kinds) {
  const std::int64_t layers = std::ssize(kinds);
  for (std::int64_t first = 0; first <= 4; ++first)
    for (std::int64_t period = 1; period <= 8; ++period) {
      bool repeats = layers >= first + 2 * period;
      for (std::int64_t l = first + period; repeats && l < layers; ++l)
        repeats = kinds[static_cast<std::size_t>(l)] == kinds[static_cast<std::size_t>(l - period)];
      if (repeats) return {period, first};
    }
  return {};
}

template <class Dims>
Dims with_layers(Dims d, std::int64_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  d.num_layers = layers;
  if constexpr (requires { d.layer_rope; }) {
    d.layer_rope.resize(count);
    d.windows.resize(count);
    if (!d.experts.layers.empty()) d.experts.layers.resize(count);
  } else if constexpr (requires { d.global_layers; }) {
    if (!d.global_layers.empty()) d.global_layers.resize(count);
  } else if constexpr (requires { d.num_decoder_layers; }) {
    d.num_decoder_layers = layers;
  }
  return d;
}

std::int64_t up_to(std::int64_t least, std::int64_t period) {
  return (least + period - 1) / period * period;
}

}  // namespace

std::optional<FewerLayers> fewer_layers(const Draft& plan) {
  const recipe::Recipe& r = plan.recipe;
  const bool by_name = !r.optimizer.groups.empty() || !plan.fp8_fallback.empty() ||
                       (plan.adapter && plan.adapter->tells_layers_apart());
  const auto& offload = r.memory.optimizer_offload;
  const bool by_group = offload.share.is_auto() || *offload.share.value > 0 ||
                        offload.where == recipe::OptimizerOffload::cpu_disk;
  if (by_name || by_group || plan.mesh.pipeline > 1) return std::nullopt;
  return std::visit(
      [](const auto& d) -> std::optional<FewerLayers> {
        if constexpr (requires { d.num_layers; }) {
          if (d.num_layers < fewest_that_gain) return std::nullopt;
          Repeat repeat{1, 0};
          if constexpr (requires { d.num_decoder_layers; }) {
            if (d.num_decoder_layers != d.num_layers) return std::nullopt;
          } else {
            repeat = repeat_of(kinds_of(d));
          }
          if (repeat.period == 0) return std::nullopt;
          const std::int64_t p = repeat.period, rest = (d.num_layers - repeat.first) % p,
                             few = repeat.first + rest + up_to(fewest, p),
                             more = few + up_to(difference, p);
          if (3 * (few + more) > 4 * d.num_layers) return std::nullopt;
          return FewerLayers{with_layers(d, few), with_layers(d, more), d.num_layers, few, more};
        } else {
          return std::nullopt;
        }
      },
      plan.dims);
}

bool is_searchable(const Draft& plan) {
  const std::int64_t layers = layers_of(plan.dims);
  return layers <= most_searched_layers || (layers <= most_repeated_layers && fewer_layers(plan));
}

}  // namespace trainx::plan
