// What Adafactor does to one element, row or tensor, for the kernels and the reference.
#pragma once
#include "kernels/optimizer/adafactor.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <cstdint>

namespace trainx::kernels {

struct AdafactorStep {
  bool finite;  // else nothing is updated
  float gradient_factor;
  float beta2, one_minus_beta2;  // 1 - t^decay_rate
  float eps1, beta1, one_minus_beta1;
  double lr;  // before a tensor's own scale
};

TRAINX_HOST_DEVICE AdafactorStep adafactor_step(const UpdateScalars& scalars,
                                                const AdafactorSettings& o) {
  const UpdateScale scale = update_scale(scalars, o.scale);
  const double decay = std::pow(static_cast<double>(scale.applied_steps + 1), o.decay_rate);
  return {scale.finite,
          scale.gradient_factor,
          static_cast<float>(1 - decay),
          static_cast<float>(decay),
          static_cast<float>(o.eps1),
          static_cast<float>(o.beta1),
          static_cast<float>(1 - o.beta1),
          scale.lr};
}

TRAINX_HOST_DEVICE float adafactor_squared(const AdafactorStep& s, float gradient) {
  const float g = product(gradient, s.gradient_factor);
  return sum(product(g, g), s.eps1);
}
/// A mean or a second moment after this step.
TRAINX_HOST_DEVICE float adafactor_moved(const AdafactorStep& s, float state, float now) {
  return sum(product(state, s.beta2), product(s.one_minus_beta2, now));
}
TRAINX_HOST_DEVICE float adafactor_root(float x) { return quotient(1.0f, square_root(x)); }

/// Of a row with that mean, in a matrix whose rows' means average to `row_mean`.
TRAINX_HOST_DEVICE float adafactor_row_factor(float row, float row_mean) {
  return adafactor_root(quotient(row, row_mean));
}
/// `factor`: of row and column, or of the element's second moment. Before clipping.
TRAINX_HOST_DEVICE float adafactor_direction(const AdafactorStep& s, float factor, float gradient) {
  return product(factor, product(gradient, s.gradient_factor));
}

TRAINX_HOST_DEVICE float adafactor_step_size(const AdafactorStep& s, const AdafactorSettings& o,
                                             double weights2, std::int64_t elements) {
  if (!o.scale_parameter) return static_cast<float>(s.lr);
  const double rms = std::sqrt(weights2 / static_cast<double>(elements));
  return static_cast<float>(product(s.lr, rms > o.eps2 ? rms : o.eps2));
}
TRAINX_HOST_DEVICE float adafactor_clip(const AdafactorSettings& o, double directions2,
                                        std::int64_t elements) {
  const double over = std::sqrt(directions2 / static_cast<double>(elements)) / o.clip_threshold;
  return over > 1 ? static_cast<float>(over) : 1.0f;
}

/// Where a range has the element of a matrix in that row and column; -1: it is elsewhere.
TRAINX_HOST_DEVICE std::int64_t adafactor_place(const AdafactorPart& p, std::int64_t row,
                                                std::int64_t column) {
  if (!p.is_in_parts) return p.first + row * p.columns + column;
  const AdafactorPlaces& places = p.places;
  const bool of_row = places.row_elements > 0;
  const std::int64_t element = of_row ? column : row * p.columns + column,
                     first = of_row ? places.place + row * places.row_elements : 0;
  std::int64_t place = -1;
  for (int k = 0; k < AdafactorPlaces::most_runs; ++k) {  // of constant length: in registers
    const AdafactorPlaces::Run& run = places.runs[k];
    if (element >= run.begin && element < run.end) place = first + run.place + element - run.begin;
  }
  return place < places.elements ? place : -1;
}
/// Whether the range may have any element of that part of a matrix.
TRAINX_HOST_DEVICE bool adafactor_has_any(const AdafactorPart& p, std::int64_t row_begin,
                                          std::int64_t row_end, std::int64_t column_begin,
                                          std::int64_t column_end) {
  if (!p.is_in_parts) return true;
  const AdafactorPlaces& places = p.places;
  const bool of_rows = places.row_elements > 0;
  if (of_rows && (places.place + row_begin * places.row_elements >= places.elements ||
                  places.place + row_end * places.row_elements <= 0))
    return false;
  const std::int64_t first = of_rows ? column_begin : row_begin * p.columns + column_begin,
                     end = of_rows ? column_end : (row_end - 1) * p.columns + column_end;
  bool any = false;
  for (int k = 0; k < AdafactorPlaces::most_runs; ++k)
    any = any || (first < places.runs[k].end && places.runs[k].begin < end);
  return any;
}

/// `first`: the first moment in and out, where there is one. `decay`: weight decay times the step
/// size.
TRAINX_HOST_DEVICE float adafactor_weight(const AdafactorStep& s, float direction, float step_size,
                                          float clip, float decay, float weight, float* first) {
  float u = product(quotient(direction, clip), step_size);
  if (first) u = *first = sum(product(*first, s.beta1), product(s.one_minus_beta1, u));
  return sum(sum(weight, -product(decay, weight)), -u);
}

}  // namespace trainx::kernels
