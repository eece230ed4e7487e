#include "kernels/optimizer/adamw_element.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

template <class Weights>
void update(const AdamWTable& table, const AdamWStep& step) {
  for (std::int64_t c = 0; c < table.chunk_count; ++c) {
    const AdamWRange& r = table.ranges[table.chunks[c].range];
    const Weights weights(r);
    const std::int64_t begin = table.chunks[c].index * chunk_elements, end = std::min(r.elements, begin + chunk_elements);
    for (std::int64_t i = begin; i < end; ++i) {
      float w = weights.load(i);
      adamw_element(step, r.decays, r.gradient[i], w, r.exp_avg[i], r.exp_avg_sq[i]);
      weights.store(i, w);
    }
  }
}

}  // namespace

void adamw_reference(const AdamWTable& table, WeightKind kind, const AdamWScalars& scalars, const AdamWSettings& settings) {
  const AdamWStep step = adamw_step(scalars, settings);
  if (!step.finite) return;
  switch (kind) {
    case WeightKind::fp32: return update<Fp32Weights>(table, step);
    case WeightKind::bf16: return update<Bf16Weights>(table, step);
    case WeightKind::bf16_with_master: return update<MasterWeights>(table, step);
    case WeightKind::bf16_split: return update<SplitWeights>(table, step);
  }
}

}  // namespace trainx::kernels
