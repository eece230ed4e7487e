#include "kernels/optimizer/average.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include <algorithm>

namespace trainx::kernels {

void average_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AverageSettings& settings) {
  if (!update_scale(scalars, settings.scale).finite) return;
  const auto share = static_cast<float>(1 - settings.decay),
             rest = static_cast<float>(settings.decay);
  with_weight_type(kind, [&]<class W>(TypeOf<W>) {
    for (std::int64_t c = 0; c < table.chunk_count; ++c) {
      const UpdateRange& r = table.ranges[table.chunks[c].range];
      const W weights(r, scalars);
      auto* const mean = static_cast<float*>(r.states[0]);
      const std::int64_t begin = table.chunks[c].index * chunk_elements,
                         end = std::min(r.elements, begin + chunk_elements);
      for (std::int64_t i = begin; i < end; ++i)
        mean[i] = averaged(mean[i], weights.load(i), share, rest);
    }
  });
}

}  // namespace trainx::kernels
