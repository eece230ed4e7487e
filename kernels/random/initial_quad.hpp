#pragma once
#include "kernels/random/initial_values.hpp"
#include "kernels/random/normal_pair.hpp"
#include "kernels/random/philox.hpp"

namespace trainx::kernels {

struct FourValues {
  float at[4];
};

/// Elements [4 quad, 4 quad + 4) of the tensor, as if it had no end.
TRAINX_HOST_DEVICE FourValues initial_quad(const InitialValues& v, std::int64_t quad) {
  FourValues out{};
  if (v.law == InitialLaw::constant) {
    for (int j = 0; j < 4; ++j) out.at[j] = static_cast<float>(v.scale);
    return out;
  }
  const FourWords words = philox(
      {{static_cast<std::uint32_t>(quad), static_cast<std::uint32_t>(quad >> 32), 0, 0}}, v.key);
  if (v.law == InitialLaw::normal) {
    const NormalPair first = normal_pair(words.at[0], words.at[1]),
                     second = normal_pair(words.at[2], words.at[3]);
    for (int j = 0; j < 2; ++j) {
      out.at[j] = static_cast<float>(product(v.scale, first.at[j]));
      out.at[2 + j] = static_cast<float>(product(v.scale, second.at[j]));
    }
    return out;
  }
  for (int j = 0; j < 4; ++j)  // exact up to the last product
    out.at[j] = static_cast<float>(
        product(v.scale, sum(product(sum(static_cast<double>(words.at[j]), 0.5), 0x1p-31), -1.0)));
  return out;
}

/// The value of element i of the tensor, of which initial_quad says x.
TRAINX_HOST_DEVICE float initial_value(const InitialValues& v, std::int64_t i, float x) {
  return i >= v.end || (i >= v.zero_begin && i < v.zero_end) ? 0.0f : x;
}

/// Writes x as the element that lies at `at`.
TRAINX_HOST_DEVICE void store_initial(const InitialPlaces& to, std::int64_t at, float x) {
  if (to.exact) to.exact[at] = x;
  if (to.average) to.average[at] = x;
  if (to.bf16) to.bf16[at] = nearest_weight(x);
  if (to.low) to.low[at] = low_bits(x);
  if (to.fp16) narrow(x, to.fp16[at]);
}

}  // namespace trainx::kernels
