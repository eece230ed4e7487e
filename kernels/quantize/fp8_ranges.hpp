// Delayed scaling: a tensor's scale follows from the largest magnitudes of steps before. They are
// kept as powers of two, so that sums over ranks and micro-batches tell the largest of all: of each
// exponent it is counted how many parts of a tensor have it as their largest.
#pragma once
#include "kernels/quantize/fp8_bits.hpp"

namespace trainx::kernels {

/// What a cast adds to counts: elements, those of them that are not zero and became it, those that
/// were cut to the largest value, and NaNs and infinities.
enum Fp8Count : int { fp8_elements, fp8_flushed, fp8_saturated, fp8_not_finite, fp8_counts };

/// Exponents that are told apart; smaller and larger ones count as the first and the last.
constexpr int fp8_exponents = 128, fp8_first_exponent = -96;
/// Steps that are remembered.
constexpr int fp8_history = 16;
/// A tensor's state: its range, 2^n above all magnitudes remembered (0: none is), and of each step,
/// the last one first, which exponent was the largest, counted from 1 (0: all elements were zero).
constexpr int fp8_range_state = 1 + fp8_history;

/// Of a magnitude that is not zero, by its bits.
TRAINX_HOST_DEVICE int fp8_exponent(std::uint32_t magnitude) {
  const int at = static_cast<int>(magnitude >> 23) - 127 - fp8_first_exponent;
  return at < 0 ? 0 : at < fp8_exponents ? at : fp8_exponents - 1;
}

/// Values within the range come to at most 256 (e4m3) or 32768 (e5m2), so that 1.75 times the range
/// is cut nowhere.
TRAINX_HOST_DEVICE float fp8_scale_of_range(double range, Fp8Format format) {
  return static_cast<float>(range * (format == Fp8Format::e4m3 ? 0x1p-8 : 0x1p-15));
}

/// The range, from what is remembered.
TRAINX_HOST_DEVICE void set_fp8_range(double* state) {
  double most = 0;
  for (int k = 1; k <= fp8_history; ++k) most = state[k] > most ? state[k] : most;
  double range = most > 0 ? 1 : 0;
  const int power = static_cast<int>(most) + fp8_first_exponent;
  for (int k = 0; k < power; ++k) range *= 2;
  for (int k = 0; k > power; --k) range *= 0.5;
  state[0] = range;
}

/// The state behind a step that counted `exponents`.
TRAINX_HOST_DEVICE void advance_fp8_range(double* state, const double* exponents) {
  int largest = fp8_exponents;
  while (largest > 0 && !(exponents[largest - 1] > 0)) --largest;
  for (int k = fp8_history; k > 1; --k) state[k] = state[k - 1];
  state[1] = largest;
  set_fp8_range(state);
}

/// Of `tensors`, each of which has counted fp8_counts numbers and its exponents behind them.
inline void advance_fp8_ranges(double* states, const double* counts, std::int64_t tensors) {
  for (std::int64_t t = 0; t < tensors; ++t)
    advance_fp8_range(states + t * fp8_range_state,
                      counts + t * (fp8_counts + fp8_exponents) + fp8_counts);
}

}  // namespace trainx::kernels
