#include "kernels/optimizer/own_stage.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::kernels {
namespace {

/// Calls `use(weights, range, i)` for each element.
template <class Use>
void for_each_element(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const Use& use) {
  with_weight_type(kind, [&]<class W>(TypeOf<W>) {
    for (std::int64_t c = 0; c < table.chunk_count; ++c) {
      const StagedRange& r = table.ranges[table.chunks[c].range];
      const W weights(r.range, scalars);
      const std::int64_t begin = table.chunks[c].index * chunk_elements,
                         end = std::min(r.range.elements, begin + chunk_elements);
      for (std::int64_t i = begin; i < end; ++i) use(weights, r, i);
    }
  });
}

}  // namespace

void own_stage_reference(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const ScaleSettings& scale, const OwnStage& to) {
  const UpdateScale s = update_scale(scalars, scale);
  *to.step = {s.lr, static_cast<double>(s.applied_steps + 1), s.finite};
  for_each_element(
      table, kind, scalars, [&](const auto& weights, const StagedRange& r, std::int64_t i) {
        const std::int64_t at = r.at + i;
        to.weights[at] = weights.load(i);
        to.gradients[at] = s.finite ? product(gradient_at(r.range, i), s.gradient_factor) : 0;
        for (int k = 0; k < to.state_count; ++k) to.states[k * to.stride + at] = r.states[k][i];
      });
}

void own_unstage_reference(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                           const OwnStage& from) {
  if (!from.step->finite) return;
  const auto require = [&](float x, int what) {
    if (!std::isfinite(x))
      *from.fault = own_fault(static_cast<std::int64_t>(from.step->step), what);
    return x;
  };
  for_each_element(table, kind, scalars,
                   [&](const auto& weights, const StagedRange& r, std::int64_t i) {
                     const std::int64_t at = r.at + i;
                     weights.store(i, require(from.weights[at], 0));
                     for (int k = 0; k < from.state_count; ++k)
                       r.states[k][i] = require(from.states[k * from.stride + at], k + 1);
                   });
}

}  // namespace trainx::kernels
