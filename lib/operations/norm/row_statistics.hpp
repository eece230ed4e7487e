#pragma once
#include "operations/common/element.hpp"
#include <cmath>
#include <cstdint>

namespace trainx::operations {

/// Of one row of a LayerNorm.
struct RowStatistics {
  float mean, rstd;
};
template <class T>
TRAINX_INLINE RowStatistics row_statistics(const T* row, std::int64_t columns, double epsilon) {
  const auto n = static_cast<float>(columns);
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < columns; ++c) sum += load(row[c]);
  const float mean = sum / n;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t c = 0; c < columns; ++c)
    squares += (load(row[c]) - mean) * (load(row[c]) - mean);
  return {mean, static_cast<float>(1 / std::sqrt(static_cast<double>(squares / n) + epsilon))};
}

}  // namespace trainx::operations
