#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/mean_pool/mean_pool_backends.hpp"
#include "tensor/parallel.hpp"
#include <string>
#include <vector>

namespace trainx::operations::cpu {
namespace {

/// Calls f(sample, its rows without padding, its rows) for each.
template <class F>
void for_samples(const Tensor& x, const Tensor& lengths, F f) {
  const TimedWork timed(Work::norm);
  const std::int64_t samples = lengths.numel(), T = x.size(0) / samples;
  tensor::parallel_for(0, samples, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t length = lengths.as<const std::int32_t>()[b];
      if (length < 0 || length > T)
        throw InternalError("mean_pool: a length of " + std::to_string(length) + " in rows of " +
                            std::to_string(T));
      f(b, length, T);
    }
  });
}

}  // namespace

void mean_pool(const Tensor& out, const Tensor& x, const Tensor& lengths) {
  const std::int64_t columns = x.size(1);
  with_element(x, [&]<class E>(E) {
    for_samples(x, lengths, [&](std::int64_t b, std::int64_t length, std::int64_t rows) {
      std::vector<double> sums(static_cast<std::size_t>(columns));
      const E* const from = data<E>(x) + b * rows * columns;
      for (std::int64_t i = 0; i < length * columns; ++i)
        sums[static_cast<std::size_t>(i % columns)] += load(from[i]);
      E* const to = data<E>(out) + b * columns;
      for (std::int64_t c = 0; c < columns; ++c)
        store(to[c], length > 0 ? static_cast<float>(sums[static_cast<std::size_t>(c)] /
                                                     static_cast<double>(length))
                                : 0);
    });
  });
}

void mean_pool_backward(const Tensor& dx, const Tensor& d_out, const Tensor& lengths) {
  const std::int64_t columns = dx.size(1);
  with_element(dx, [&]<class E>(E) {
    for_samples(dx, lengths, [&](std::int64_t b, std::int64_t length, std::int64_t rows) {
      const E* const from = data<E>(d_out) + b * columns;
      E* const to = data<E>(dx) + b * rows * columns;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          store(to[r * columns + c], r < length ? load(from[c]) / static_cast<float>(length) : 0);
    });
  });
}

}  // namespace trainx::operations::cpu
