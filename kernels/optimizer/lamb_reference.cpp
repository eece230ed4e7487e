#include "kernels/optimizer/lamb_element.hpp"
#include "kernels/optimizer/lane_sum.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

double lamb_square(float x) { return static_cast<double>(x) * static_cast<double>(x); }

struct LambPart {
  const UpdateRange& range;
  float *m, *v;
  std::int64_t begin, end;
  LambPart(const UpdateTable& table, std::int64_t chunk)
      : range(table.ranges[table.chunks[chunk].range]),
        m(static_cast<float*>(range.states[0])),
        v(static_cast<float*>(range.states[1])),
        begin(table.chunks[chunk].index * chunk_elements),
        end(std::min(range.elements, begin + chunk_elements)) {}
};

}  // namespace

void lamb_reference_moments(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                            const UpdateScalars& scalars, const LambSettings& settings,
                            const LambMemory& memory, LambStates states) {
  const LambStep step = lamb_step(scalars, settings);
  if (!step.finite) return;
  const LambPart p(table, chunk);
  float m[chunk_elements], v[chunk_elements];
  for (std::int64_t i = p.begin; i < p.end; ++i) {
    float &new_m = m[i - p.begin] = p.m[i], &new_v = v[i - p.begin] = p.v[i];
    lamb_moments(step, gradient_at(p.range, i), new_m, new_v);
    if (states == LambStates::moved) p.m[i] = new_m, p.v[i] = new_v;
  }
  with_weight_type(kind, [&](auto type) {
    const typename decltype(type)::Type weights(p.range, scalars);
    memory.partial[2 * chunk] = lane_sum(
        p.end - p.begin, [&](std::int64_t i) { return lamb_square(weights.load(p.begin + i)); });
    memory.partial[2 * chunk + 1] = lane_sum(p.end - p.begin, [&](std::int64_t i) {
      const std::int64_t at = p.begin + i;
      return lamb_square(lamb_direction(step, p.range.decays, weights.load(at), m[i], v[i]));
    });
  });
}

namespace {

/// Of the range's chunks; which: weights or directions.
double sum_of_chunks(std::int64_t range, const LambMemory& memory, int which) {
  const std::int64_t first = memory.first_chunks[range],
                     chunks = memory.first_chunks[range + 1] - first;
  return lane_sum(chunks, [&](std::int64_t c) { return memory.partial[2 * (first + c) + which]; });
}

}  // namespace

void lamb_reference_sums(std::int64_t range, const LambMemory& memory) {
  for (const int which : {0, 1}) memory.sums[range][which] = sum_of_chunks(range, memory, which);
}

void lamb_reference_ratio(std::int64_t range, const LambMemory& memory) {
  const auto total = [&](int which) {
    return memory.sums ? memory.sums[range][which] : sum_of_chunks(range, memory, which);
  };
  memory.ratios[range] = lamb_ratio(total(0), total(1));
}

void lamb_reference_apply(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                          const UpdateScalars& scalars, const LambSettings& settings,
                          const LambMemory& memory) {
  const LambStep step = lamb_step(scalars, settings);
  if (!step.finite) return;
  const LambPart p(table, chunk);
  const float minus_step = product(step.minus_lr, memory.ratios[table.chunks[chunk].range]);
  with_weight_type(kind, [&](auto type) {
    const typename decltype(type)::Type weights(p.range, scalars);
    for (std::int64_t i = p.begin; i < p.end; ++i) {
      const float w = weights.load(i);
      weights.store(
          i, sum(w, product(minus_step, lamb_direction(step, p.range.decays, w, p.m[i], p.v[i]))));
    }
  });
}

void lamb_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const LambSettings& settings, const LambMemory& memory) {
  for (std::int64_t c = 0; c < table.chunk_count; ++c)
    lamb_reference_moments(table, c, kind, scalars, settings, memory);
  for (std::int64_t r = 0; r < memory.ranges; ++r) lamb_reference_ratio(r, memory);
  for (std::int64_t c = 0; c < table.chunk_count; ++c)
    lamb_reference_apply(table, c, kind, scalars, settings, memory);
}

}  // namespace trainx::kernels
