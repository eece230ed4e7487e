#include "operations/column_sum/column_sum.hpp"
#include "operations/common/element.hpp"
#include <algorithm>
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

namespace {

constexpr std::int64_t summed_columns = 64;  // columns summed side by side, in registers

template <class T>
TRAINX_INLINE void sum(float* sums, const T* x, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, bool accumulate) {
  float totals[summed_columns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) totals[c] += load(x[r * columns + c]);
  }
  for (std::int64_t c = 0; c < width; ++c) sums[c] = (accumulate ? sums[c] : 0.0f) + totals[c];
}
TRAINX_CLONES void sum_strip(float* s, const float* x, std::int64_t rows, std::int64_t columns,
                             std::int64_t width, bool acc) {
  sum(s, x, rows, columns, width, acc);
}
TRAINX_CLONES void sum_strip(float* s, const Bf16* x, std::int64_t rows, std::int64_t columns,
                             std::int64_t width, bool acc) {
  sum(s, x, rows, columns, width, acc);
}
TRAINX_CLONES void sum_strip(float* s, const Fp16* x, std::int64_t rows, std::int64_t columns,
                             std::int64_t width, bool acc) {
  sum(s, x, rows, columns, width, acc);
}

}  // namespace

void cpu::column_sum(const Tensor& sums, const Tensor& x, bool accumulate) {
  const TimedWork timed(Work::sum);
  const std::int64_t rows = x.size(0), columns = x.size(1),
                     strips = (columns + summed_columns - 1) / summed_columns;
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, strips, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin * summed_columns; c < std::min(columns, end * summed_columns);
           c += summed_columns)
        sum_strip(data<float>(sums) + c, data<T>(x) + c, rows, columns,
                  std::min(summed_columns, columns - c), accumulate);
    });
  });
}

}  // namespace trainx::operations
