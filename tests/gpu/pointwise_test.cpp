#include "kernels/activation/pointwise.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace pointwise_test {

using namespace trainx::kernels;

namespace {

template <class T>
std::vector<T> arguments(std::int64_t n) {
  auto x = random_elements<T>(n, 1, 3);
  const float edges[] = {0, -0.0f, 1e-30f, -1e-30f, 8, -8, -12, 100, -100, 250, -3e4f};
  for (std::size_t i = 0; i < std::min(x.size(), std::size(edges)); ++i) narrow(edges[i], x[i]);
  return x;
}

template <class T>
void check_forward(ActivationKind kind) {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 2047, 2048, 4099, 300'003})
    for (const std::size_t shift : {0u, 1u}) {
      INFO("n " << n << " shift " << shift << " kind " << static_cast<int>(kind));
      const auto pre = arguments<T>(n);
      std::vector<T> want(pre.size());
      pointwise_reference(want.data(), pre.data(), n, kind);
      const OnDevice<T> in(pre, shift), out(want, shift);
      require_success(pointwise(out.data(), in.data(), n, kind, nullptr), "pointwise");
      check_close(out.host(), want, rounding<T>, 2e-6, "pointwise");
      require_success(pointwise(in.data(), in.data(), n, kind, nullptr), "pointwise");
      CHECK(same_bits(in.host(), out.host()));
    }
}

template <class T>
void check_backward(ActivationKind kind) {
  for (const std::int64_t columns : {0, 1, 5, 8, 64, 100, 768, 1031})
    for (const std::int64_t rows : {0, 1, 33, 300})
      for (const std::size_t shift : {0u, 1u})
        for (const bool bias : {false, true}) {
          const bool accumulate = rows == 33;
          INFO("rows " << rows << " columns " << columns << " shift " << shift << " bias " << bias
                       << " kind " << static_cast<int>(kind));
          const auto d_out = random_elements<T>(rows * columns, 2),
                     pre = random_elements<T>(rows * columns, 3, 2);
          const auto before = random_elements<float>(columns, 4);
          auto want = d_out;
          auto want_bias = before;
          pointwise_backward_reference(
              PointwiseBackward<T>{rows, columns, d_out.data(), pre.data(), want.data(),
                                   bias ? want_bias.data() : nullptr, accumulate},
              kind);
          const OnDevice<T> d(d_out, shift), x(pre, shift);
          const OnDevice<float> sums(before, shift);
          const Folding folding(pointwise_backward_partial_bytes(columns));
          require_success(
              pointwise_backward(PointwiseBackward<T>{rows, columns, d.data(), x.data(), d.data(),
                                                      bias ? sums.data() : nullptr, accumulate},
                                 kind, folding.memory(), nullptr),
              "pointwise_backward");
          folding.check();
          check_close(d.host(), want, rounding<T>, 5e-6, "d_pre");
          check_close(sums.host(), want_bias, 1e-5, sizeof(T) == 2 ? 0.1 : 2e-4, "d_bias");
        }
}

}  // namespace

TEST_CASE("SiLU, ReLU and its square equal their references", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const ActivationKind kind :
       {ActivationKind::silu, ActivationKind::relu, ActivationKind::relu_squared}) {
    check_forward<float>(kind);
    check_forward<Bf16>(kind);
    check_backward<float>(kind);
    check_backward<Bf16>(kind);
    check_backward<Fp16>(kind);
  }
}

TEST_CASE("pointwise kernels leave GELUs to their own, and carry NaN", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const OnDevice<float> x(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), -1});
  CHECK(pointwise(x.data(), x.data(), 3, ActivationKind::gelu_erf, nullptr) ==
        cudaErrorInvalidValue);
  for (const ActivationKind kind :
       {ActivationKind::relu, ActivationKind::relu_squared, ActivationKind::silu}) {
    require_success(pointwise(x.data(), x.data(), 3, kind, nullptr), "pointwise");
    const auto y = x.host();
    CHECK((!std::isnan(y[0]) && std::isnan(y[1]) && !std::isnan(y[2])));
  }
}

}  // namespace pointwise_test
