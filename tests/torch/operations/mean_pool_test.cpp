// The mean of a sample's tokens against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/mean_pool/mean_pool.hpp"

namespace mean_pool_test {

using namespace trainx;
using namespace double_reference;

TEST_CASE("the rows of a sample without padding become their mean") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t B = 4, T = GENERATE(1, 7), C = GENERATE(1, 33);
  Operands operands(type);
  INFO("length " << T << " columns " << C << " seed " << operands.seed());
  const at::Tensor x = operands.normal({B * T, C}), d = operands.normal({B, C}),
                   out = operands.empty({B, C}), dx = operands.empty({B * T, C});
  const at::Tensor lengths = at::full({B}, T, at::kInt);
  const std::int64_t few = (T + 1) / 2;
  lengths[1] = few, lengths[2] = 0, lengths[3] = 1;
  operations::mean_pool(out, x, lengths);
  operations::mean_pool_backward(dx, d, lengths);
  const Doubles in = doubles(x), from = doubles(d);
  Doubles want(from.size()), slopes(in.size());
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t n = b == 0 ? T : b == 1 ? few : b == 2 ? 0 : 1;
    for (std::int64_t t = 0; t < n; ++t)
      for (std::int64_t c = 0; c < C; ++c) {
        const auto first = static_cast<std::size_t>(b * C + c),
                   at = static_cast<std::size_t>((b * T + t) * C + c);
        want[first] += in[at] / static_cast<double>(n);
        slopes[at] = from[first] / static_cast<double>(n);
      }
  }
  CHECK(error(out, want) <= operands.tolerance());
  CHECK(error(dx, slopes) <= operands.tolerance());
}

}  // namespace mean_pool_test
