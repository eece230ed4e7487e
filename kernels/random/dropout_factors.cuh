// The factors of FusedDropout on the device.
#pragma once
#include "kernels/random/fused_dropout.hpp"
#include "kernels/random/philox.hpp"
#include <cstdint>

namespace trainx::kernels {

struct DropoutFactors {
  const std::int64_t* positions;
  std::int64_t length, first_row;
  std::uint64_t seed;
  std::uint32_t where, threshold;
  float scale;
  bool on;
};

inline DropoutFactors dropout_factors(const FusedDropout& d) {
  DropoutFactors f{};
  f.positions = d.positions;
  f.length = d.length;
  f.first_row = d.first_row;
  f.seed = d.key.seed;
  f.where = d.key.block << 8 | d.key.site;
  f.threshold = static_cast<std::uint32_t>(std::ldexp(d.key.probability, 32));
  f.scale = static_cast<float>(1 / (1 - d.key.probability));
  f.on = static_cast<bool>(d);
  return f;
}

/// What the factors of one row have in common.
struct DropoutRow {
  std::uint64_t position;
  std::int64_t first_element;  // of the row in its sample
};
__device__ __forceinline__ DropoutRow dropout_row(const DropoutFactors& f, std::int64_t row,
                                                  std::int64_t columns) {
  const std::int64_t absolute = f.first_row + row, sample = absolute / f.length;
  return {static_cast<std::uint64_t>(f.positions[sample]),
          (absolute - sample * f.length) * columns};
}

__device__ __forceinline__ FourWords dropout_words(const DropoutFactors& f, const DropoutRow& row,
                                                   std::int64_t quad) {
  return philox(
      {{static_cast<std::uint32_t>(quad), f.where, static_cast<std::uint32_t>(row.position),
        static_cast<std::uint32_t>(row.position >> 32)}},
      f.seed);
}

/// Of the elements [column, column + 8) of the row.
__device__ __forceinline__ void factors8(const DropoutFactors& f, const DropoutRow& row, int column,
                                         float (&factors)[8]) {
  const std::int64_t element = row.first_element + column;
  if (element % 4 == 0) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const FourWords words = dropout_words(f, row, element / 4 + q);
#pragma unroll
      for (int j = 0; j < 4; ++j) factors[4 * q + j] = words.at[j] >= f.threshold ? f.scale : 0.0f;
    }
  } else {
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      const FourWords words = dropout_words(f, row, (element + j) / 4);
      const int of_four = static_cast<int>((element + j) % 4);
      const std::uint32_t word = of_four == 0   ? words.at[0]
                                 : of_four == 1 ? words.at[1]
                                 : of_four == 2 ? words.at[2]
                                                : words.at[3];
      const float factor = word >= f.threshold ? f.scale : 0.0f;
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (k == j) factors[k] = factor;
    }
  }
}

}  // namespace trainx::kernels
