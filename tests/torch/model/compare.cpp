#include "compare.hpp"
#include "tensor/random_key.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/max.h>
#include <limits>

namespace trainx::model::test {

at::Tensor reference_dropout(double probability, std::uint64_t seed, std::uint32_t block,
                             const at::Tensor& positions, std::int64_t length, std::int64_t columns,
                             std::uint32_t site) {
  const std::int64_t B = positions.numel();
  at::Tensor factors = at::empty({B, length, columns}, at::kDouble);
  double* out = factors.data_ptr<double>();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t e = 0; e < length * columns; ++e) {
      const auto position = static_cast<std::uint64_t>(positions.data_ptr<std::int64_t>()[b]);
      const auto words = tensor::philox(
          {static_cast<std::uint32_t>(e / 4), block << 8 | site,
           static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)},
          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      *out++ = words[e % 4] / 4294967296.0 < probability ? 0 : 1 / (1 - probability);
    }
  return factors;
}

double relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  if (x.sizes() != y.sizes() || !at::isfinite(x).all().item<bool>() ||
      !at::isfinite(y).all().item<bool>())
    return std::numeric_limits<double>::infinity();
  const double largest = y.abs().max().item<double>();
  return (x - y).abs().max().item<double>() / (largest > 0 ? largest : 1);
}

}  // namespace trainx::model::test
