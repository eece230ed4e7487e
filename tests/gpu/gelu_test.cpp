#include "kernels/activation/gelu.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace gelu_test {

using namespace trainx::kernels;

namespace {

template <class T>
std::vector<T> preactivations(std::int64_t n) {
  auto x = random_elements<T>(n, 1, 3);
  const float edges[] = {0, -0.0f, 1e-30f, -1e-30f, 8, -8, -12, 100, -100, 3e4f, -3e4f};
  for (std::size_t i = 0; i < std::min(x.size(), std::size(edges)); ++i) narrow(edges[i], x[i]);
  return x;
}

template <class T>
void check_forward(GeluKind kind) {
  const std::int64_t n = GENERATE(0, 1, 7, 8, 9, 2047, 2048, 4099, 1'000'003);
  for (const std::size_t shift : {0u, 1u}) {
    INFO("n " << n << " shift " << shift << " kind " << static_cast<int>(kind));
    const auto pre = preactivations<T>(n);
    std::vector<T> want(pre.size());
    gelu_reference(want.data(), pre.data(), n, kind);
    const OnDevice<T> in(pre, shift), out(want, shift);
    require_success(gelu(out.data(), in.data(), n, kind, nullptr), "gelu");
    check_close(out.host(), want, rounding<T>, 2e-6, "gelu");
    require_success(gelu(in.data(), in.data(), n, kind, nullptr), "gelu");
    CHECK(same_bits(in.host(), out.host()));
  }
}

template <class T>
struct Results {
  std::vector<T> d_pre;
  std::vector<float> d_bias;
};

template <class T>
Results<T> device_of(const std::vector<T>& d_out, const std::vector<T>& pre, std::int64_t rows,
                     std::int64_t columns, GeluKind kind, bool bias, bool accumulate,
                     const std::vector<float>& before, std::size_t shift) {
  const OnDevice<T> d(d_out, shift), x(pre, shift);
  const OnDevice<float> sums(before, shift);
  const Folding folding(gelu_backward_partial_bytes(columns));
  require_success(gelu_backward(GeluBackward<T>{rows, columns, d.data(), x.data(), d.data(),
                                                bias ? sums.data() : nullptr, accumulate},
                                kind, folding.memory(), nullptr),
                  "gelu_backward");
  folding.check();
  return {d.host(), sums.host()};
}

template <class T>
void check_backward(GeluKind kind) {
  const std::int64_t columns = GENERATE(0, 1, 5, 8, 63, 64, 100, 768, 3072, 3073);
  for (const std::int64_t rows : {0, 1, 33, 700})
    for (const std::size_t shift : {0u, 1u})
      for (const bool bias : {false, true})
        for (const bool accumulate : {false, true}) {
          INFO("rows " << rows << " columns " << columns << " shift " << shift << " bias " << bias
                       << " accumulate " << accumulate << " kind " << static_cast<int>(kind));
          const auto d_out = random_elements<T>(rows * columns, 2),
                     pre = preactivations<T>(rows * columns);
          const auto before = random_elements<float>(columns, 3);
          Results<T> want{d_out, before};
          gelu_backward_reference(
              GeluBackward<T>{rows, columns, d_out.data(), pre.data(), want.d_pre.data(),
                              bias ? want.d_bias.data() : nullptr, accumulate},
              kind);
          const auto got =
              device_of(d_out, pre, rows, columns, kind, bias, accumulate, before, shift);
          check_close(got.d_pre, want.d_pre, rounding<T>, 5e-6, "d_pre");
          check_close(got.d_bias, want.d_bias, 1e-5, sizeof(T) == 2 ? 0.05 : 1e-4, "d_bias");
        }
}

}  // namespace

TEST_CASE("gelu equals its reference for all sizes, alignments and kinds", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const GeluKind kind : {GeluKind::tanh, GeluKind::erf}) {
    check_forward<float>(kind);
    check_forward<Bf16>(kind);
    check_forward<Fp16>(kind);
  }
}

TEST_CASE("gelu backward and the bias gradient equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const GeluKind kind : {GeluKind::tanh, GeluKind::erf}) {
    check_backward<float>(kind);
    check_backward<Bf16>(kind);
    check_backward<Fp16>(kind);
  }
}

TEST_CASE("NaN goes through gelu and its backward; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 5000, columns = 3072;
  const auto d_out = random_elements<Bf16>(rows * columns, 2);
  auto pre = random_elements<Bf16>(rows * columns, 1);
  const std::vector<float> before(columns);
  for (const GeluKind kind : {GeluKind::tanh, GeluKind::erf}) {
    const auto first = device_of(d_out, pre, rows, columns, kind, true, false, before, 0);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto again = device_of(d_out, pre, rows, columns, kind, true, false, before, 0);
      CHECK((same_bits(again.d_pre, first.d_pre) && same_bits(again.d_bias, first.d_bias)));
    }
    auto broken = pre;
    narrow(std::numeric_limits<float>::quiet_NaN(), broken[4321 * columns + 77]);
    const auto got = device_of(d_out, broken, rows, columns, kind, true, false, before, 0);
    CHECK((std::isnan(widened(got.d_pre[4321 * columns + 77])) && std::isnan(got.d_bias[77]) &&
           !std::isnan(got.d_bias[78])));
    const OnDevice<Bf16> in(broken);
    require_success(gelu(in.data(), in.data(), rows * columns, kind, nullptr), "gelu");
    const auto out = in.host();
    CHECK((std::isnan(widened(out[4321 * columns + 77])) &&
           !std::isnan(widened(out[4321 * columns + 78]))));
  }
}

}  // namespace gelu_test
