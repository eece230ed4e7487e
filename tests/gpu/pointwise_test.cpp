#include "gpu/pointwise_case.hpp"
#include <algorithm>
#include <limits>

namespace pointwise_test {

using namespace trainx::kernels;

namespace {

constexpr ActivationKind kinds[] = {ActivationKind::silu,         ActivationKind::relu,
                                    ActivationKind::relu_squared, ActivationKind::gelu_tanh,
                                    ActivationKind::gelu_erf,     ActivationKind::tanh};

/// Some far from zero; of tanh, which has limits, also infinite ones.
template <class T>
std::vector<T> arguments(std::int64_t n, ActivationKind kind) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto x = random_elements<T>(n, 1, 3);
  std::vector<float> edges{0,  -0.0f, 1e-30f, -1e-30f, 8,   -8,   9,
                           -9, -12,   100,    -100,    250, 3e4f, -3e4f};
  if (kind == ActivationKind::tanh) edges.insert(edges.end(), {infinity, -infinity});
  for (std::size_t i = 0; i < std::min(x.size(), edges.size()); ++i) narrow(edges[i], x[i]);
  return x;
}

/// Whose slopes are nowhere far above 1.
bool is_bounded(ActivationKind kind) {
  return kind == ActivationKind::gelu_tanh || kind == ActivationKind::gelu_erf ||
         kind == ActivationKind::tanh;
}

/// What backward reads.
template <class T>
std::vector<T> kept_of(std::int64_t n, ActivationKind kind) {
  auto x = is_bounded(kind) ? arguments<T>(n, kind) : random_elements<T>(n, 3, 2);
  if (kind == ActivationKind::tanh) pointwise_reference(x.data(), x.data(), n, kind);
  return x;
}

template <class T>
void check_forward(ActivationKind kind) {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 2047, 2048, 4099, 1'000'003})
    for (const std::size_t shift : {0u, 1u}) {
      INFO("n " << n << " shift " << shift << " kind " << static_cast<int>(kind));
      const auto pre = arguments<T>(n, kind);
      std::vector<T> want(pre.size());
      pointwise_reference(want.data(), pre.data(), n, kind);
      const OnDevice<T> in(pre, shift), out(want, shift);
      require_success(pointwise(out.data(), in.data(), n, kind, nullptr), "pointwise");
      check_close(out.host(), want, rounding<T>, kind == ActivationKind::tanh ? 0 : 2e-6,
                  "pointwise");
      require_success(pointwise(in.data(), in.data(), n, kind, nullptr), "pointwise");
      CHECK(same_bits(in.host(), out.host()));
    }
}

template <class T>
void check_backward(ActivationKind kind) {
  for (const std::int64_t columns : {0, 1, 5, 8, 63, 64, 100, 768, 1025, 3072, 3073})
    for (const std::int64_t rows : {0, 1, 33, 700})
      for (const std::size_t shift : {0u, 1u})
        for (const bool bias : {false, true})
          for (const bool accumulate : {false, true}) {
            INFO("rows " << rows << " columns " << columns << " shift " << shift << " bias " << bias
                         << " accumulate " << accumulate << " kind " << static_cast<int>(kind));
            const auto d_out = random_elements<T>(rows * columns, 2),
                       kept = kept_of<T>(rows * columns, kind);
            const auto before = random_elements<float>(columns, 3);
            PointwiseGradients<T> want{d_out, before};
            pointwise_backward_reference(
                PointwiseBackward<T>{rows, columns, d_out.data(), kept.data(), want.d_pre.data(),
                                     bias ? want.d_bias.data() : nullptr, accumulate},
                kind);
            const auto got = gradients_on_device({rows, columns, kind, bias, accumulate, shift},
                                                 d_out, kept, before);
            check_close(got.d_pre, want.d_pre, rounding<T>,
                        kind == ActivationKind::tanh ? 1e-6 : 5e-6, "d_pre");
            const double sum_error = is_bounded(kind) ? 1 : 2;
            check_close(got.d_bias, want.d_bias, 1e-5, sum_error * (sizeof(T) == 2 ? 0.05 : 1e-4),
                        "d_bias");
          }
}

}  // namespace

TEST_CASE("functions of one number equal their references for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const ActivationKind kind : kinds) {
    check_forward<float>(kind);
    check_forward<Bf16>(kind);
    check_forward<Fp16>(kind);
  }
}

TEST_CASE("their gradients and that of a bias equal their references", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const ActivationKind kind = kinds[GENERATE(0, 1, 2, 3, 4, 5)];
  check_backward<float>(kind);
  check_backward<Bf16>(kind);
  check_backward<Fp16>(kind);
}

TEST_CASE("NaN goes through functions of one number; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 5000, columns = 3072, n = rows * columns, broken = 4321 * columns + 77;
  const auto d_out = random_elements<Bf16>(n, 2);
  const std::vector<float> before(static_cast<std::size_t>(columns));
  for (const ActivationKind kind : kinds) {
    INFO("kind " << static_cast<int>(kind));
    auto kept = kept_of<Bf16>(n, kind);
    const auto first = gradients_on_device({rows, columns, kind}, d_out, kept, before);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto again = gradients_on_device({rows, columns, kind}, d_out, kept, before);
      CHECK((same_bits(again.d_pre, first.d_pre) && same_bits(again.d_bias, first.d_bias)));
    }
    narrow(std::numeric_limits<float>::quiet_NaN(), kept[static_cast<std::size_t>(broken)]);
    const auto got = gradients_on_device({rows, columns, kind}, d_out, kept, before);
    CHECK((std::isnan(widened(got.d_pre[static_cast<std::size_t>(broken)])) &&
           std::isnan(got.d_bias[77]) && !std::isnan(got.d_bias[78])));
    const OnDevice<Bf16> in(kept);
    require_success(pointwise(in.data(), in.data(), n, kind, nullptr), "pointwise");
    const auto out = in.host();
    CHECK((std::isnan(widened(out[static_cast<std::size_t>(broken)])) &&
           !std::isnan(widened(out[static_cast<std::size_t>(broken) + 1]))));
  }
}

}  // namespace pointwise_test
