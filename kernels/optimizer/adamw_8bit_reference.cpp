#include "kernels/optimizer/adamw_8bit.hpp"
#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

template <class Weights>
void update_block(const UpdateRange& r, const Weights& weights, std::int64_t begin,
                  std::int64_t end, const AdamWRule::Step& step, const DynamicCodes& codes) {
  using S = AdamW8bitState;
  auto *const m_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_codes]),
              *const v_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_sq_codes]);
  float &m_scale = static_cast<float*>(r.states[S::exp_avg_absmax])[begin / quantised_block],
        &v_scale = static_cast<float*>(r.states[S::exp_avg_sq_absmax])[begin / quantised_block];
  float m[quantised_block], v[quantised_block], m_most = 0, v_most = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t k = i - begin;
    float w = weights.load(i);
    m[k] = product(codes.of_signed[m_codes[i]], m_scale);
    v[k] = product(codes.of_unsigned[v_codes[i]], v_scale);
    AdamWRule::element(step, r.decays, gradient_at(r, i), w, m[k], v[k]);
    weights.store(i, w);
    m_most = std::fmax(m_most, std::fabs(m[k]));
    v_most = std::fmax(v_most, v[k]);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    m_codes[i] = codes.of(m_most > 0 ? quotient(m[i - begin], m_most) : 0.0f);
    v_codes[i] = codes.of_square(v_most > 0 ? quotient(v[i - begin], v_most) : 0.0f);
  }
  m_scale = m_most;
  v_scale = v_most;
}

}  // namespace

void adamw_8bit_reference_chunk(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                                const UpdateScalars& scalars, const AdamW8bitSettings& settings,
                                const DynamicCodes* codes) {
  const AdamWRule::Step step = AdamWRule::step(scalars, settings);
  if (!step.finite) return;
  const UpdateRange& r = table.ranges[table.chunks[chunk].range];
  const std::int64_t begin = table.chunks[chunk].index * chunk_elements,
                     end = std::min(r.elements, begin + chunk_elements);
  with_weight_type(kind, [&](auto type) {
    const typename decltype(type)::Type weights(r, scalars);
    if (auto* const m = static_cast<float*>(r.states[AdamW8bitState::exp_avg])) {
      auto* const v = static_cast<float*>(r.states[AdamW8bitState::exp_avg_sq]);
      for (std::int64_t i = begin; i < end; ++i) {
        float w = weights.load(i);
        AdamWRule::element(step, r.decays, gradient_at(r, i), w, m[i], v[i]);
        weights.store(i, w);
      }
    } else {
      for (std::int64_t at = begin; at < end; at += quantised_block)
        update_block(r, weights, at, std::min(end, at + quantised_block), step, *codes);
    }
  });
}

void adamw_8bit_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                          const AdamW8bitSettings& settings, const DynamicCodes* codes) {
  for (std::int64_t c = 0; c < table.chunk_count; ++c)
    adamw_8bit_reference_chunk(table, c, kind, scalars, settings, codes);
}

}  // namespace trainx::kernels
