#pragma once
#include "kernels/random/fused_dropout.hpp"
#include "kernels/random/philox.hpp"
#include <cstdint>

namespace trainx::kernels {

/// 0 or 1 / (1 - probability), of an element of row `row` of operands with `columns` columns; for
/// references.
inline float dropout_factor(const FusedDropout& d, std::int64_t row, std::int64_t column,
                            std::int64_t columns) {
  const std::int64_t absolute = d.first_row + row, element = absolute % d.length * columns + column;
  const auto position = static_cast<std::uint64_t>(d.positions[absolute / d.length]);
  const FourWords words =
      philox({{static_cast<std::uint32_t>(element / 4), d.key.block << 8 | d.key.site,
               static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)}},
             d.key.seed);
  return words.at[element % 4] >= static_cast<std::uint32_t>(std::ldexp(d.key.probability, 32))
             ? static_cast<float>(1 / (1 - d.key.probability))
             : 0.0f;
}

}  // namespace trainx::kernels
