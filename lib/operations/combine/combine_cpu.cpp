#include "operations/combine/combine_backends.hpp"
#include "operations/common/row_arithmetic.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::operations {

namespace {

/// Of element n of the gate; 1 without a gate.
template <class T>
float opened(const Tensor& gate, std::int64_t n) {
  return gate.defined() ? 1 / (1 + std::exp(-load(data<const T>(gate)[n]))) : 1;
}

float weight_of(const CombineParts& of, std::int64_t choice) {
  return of.weights.defined() ? of.weights.as<const float>()[choice] : 1;
}

}  // namespace

void cpu::combine(const Tensor& y, const CombineParts& of) {
  const TimedWork timed(Work::sum);
  const std::int64_t N = y.size(0), H = y.size(1), k = of.places.numel() / N;
  const auto* const place = of.places.as<const std::int32_t>();
  with_element(y, [&]<class T>(T) {
    tensor::parallel_for(0, N, row_grain(k * H), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sums(static_cast<std::size_t>(H));
      float* const sum = sums.data();
      for (std::int64_t n = begin; n < end; ++n) {
        std::fill(sums.begin(), sums.end(), 0.0F);
        for (std::int64_t j = n * k; j < (n + 1) * k; ++j) {
          if (place[j] < 0) continue;
          add_scaled_row(sum, data<const T>(of.rows) + place[j] * H, weight_of(of, j), H);
        }
        if (of.shared.defined())
          add_scaled_row(sum, data<const T>(of.shared) + n * H, opened<T>(of.gate, n), H);
        write_row(data<T>(y) + n * H, sum, H);
      }
    });
  });
}

void cpu::combine_backward(const CombineParts& to, const Tensor& dy, const CombineParts& of) {
  const TimedWork timed(Work::sum);
  const std::int64_t N = dy.size(0), H = dy.size(1), k = of.places.numel() / N;
  const auto* const place = of.places.as<const std::int32_t>();
  with_element(dy, [&]<class T>(T) {
    tensor::parallel_for(0, N, row_grain(2 * k * H), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const T* const d = data<const T>(dy) + n * H;
        for (std::int64_t j = n * k; j < (n + 1) * k; ++j) {
          if (place[j] < 0) {
            if (to.weights.defined()) to.weights.as<float>()[j] = 0;
            continue;
          }
          if (to.weights.defined())
            to.weights.as<float>()[j] = dot_of_rows(d, data<const T>(of.rows) + place[j] * H, H);
          if (!to.rows.defined()) continue;
          scale_row(data<T>(to.rows) + place[j] * H, d, weight_of(of, j), H);
        }
        const float open = opened<T>(of.gate, n);
        if (to.gate.defined())
          store(data<T>(to.gate)[n],
                open * (1 - open) * dot_of_rows(d, data<const T>(of.shared) + n * H, H));
        if (to.shared.defined()) scale_row(data<T>(to.shared) + n * H, d, open, H);
      }
    });
  });
}

}  // namespace trainx::operations
