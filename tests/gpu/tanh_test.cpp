#include "kernels/activation/tanh.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace tanh_test {

using namespace trainx::kernels;

namespace {

template <class T>
std::vector<T> preactivations(std::int64_t n) {
  auto x = random_elements<T>(n, 1, 2);
  const float edges[] = {0,
                         -0.0f,
                         1e-30f,
                         -1e-30f,
                         9,
                         -9,
                         100,
                         -100,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < std::min(x.size(), std::size(edges)); ++i) narrow(edges[i], x[i]);
  return x;
}

template <class T>
void check_forward() {
  const std::int64_t n = GENERATE(0, 1, 7, 8, 9, 2047, 2048, 100'003);
  for (const std::size_t shift : {0u, 1u}) {
    INFO("n " << n << " shift " << shift);
    const auto pre = preactivations<T>(n);
    std::vector<T> want(pre.size());
    tanh_reference(want.data(), pre.data(), n);
    const OnDevice<T> in(pre, shift), out(want, shift);
    require_success(trainx::kernels::tanh(out.data(), in.data(), n, nullptr), "tanh");
    check_close(out.host(), want, rounding<T>, 0, "tanh");
    require_success(trainx::kernels::tanh(in.data(), in.data(), n, nullptr), "tanh");
    CHECK(same_bits(in.host(), out.host()));
  }
}

template <class T>
struct Results {
  std::vector<T> d_pre;
  std::vector<float> d_bias;
};

template <class T>
Results<T> device_of(const std::vector<T>& d_out, const std::vector<T>& out, std::int64_t rows,
                     std::int64_t columns, bool bias, bool accumulate,
                     const std::vector<float>& before, std::size_t shift) {
  const OnDevice<T> d(d_out, shift), y(out, shift);
  const OnDevice<float> sums(before, shift);
  const Folding folding(tanh_backward_partial_bytes(columns));
  require_success(tanh_backward(TanhBackward<T>{rows, columns, d.data(), y.data(), d.data(),
                                                bias ? sums.data() : nullptr, accumulate},
                                folding.memory(), nullptr),
                  "tanh_backward");
  folding.check();
  return {d.host(), sums.host()};
}

template <class T>
std::vector<T> outputs(std::int64_t n) {
  const auto pre = preactivations<T>(n);
  std::vector<T> out(pre.size());
  tanh_reference(out.data(), pre.data(), n);
  return out;
}

template <class T>
void check_backward() {
  const std::int64_t columns = GENERATE(0, 1, 5, 8, 63, 64, 768, 1024, 1025);
  for (const std::int64_t rows : {0, 1, 4, 33, 300})
    for (const std::size_t shift : {0u, 1u})
      for (const bool bias : {false, true})
        for (const bool accumulate : {false, true}) {
          INFO("rows " << rows << " columns " << columns << " shift " << shift << " bias " << bias
                       << " accumulate " << accumulate);
          const auto d_out = random_elements<T>(rows * columns, 2),
                     out = outputs<T>(rows * columns);
          const auto before = random_elements<float>(columns, 3);
          Results<T> want{d_out, before};
          tanh_backward_reference(TanhBackward<T>{rows, columns, d_out.data(), out.data(),
                                                  want.d_pre.data(),
                                                  bias ? want.d_bias.data() : nullptr, accumulate});
          const auto got = device_of(d_out, out, rows, columns, bias, accumulate, before, shift);
          check_close(got.d_pre, want.d_pre, rounding<T>, 1e-6, "d_pre");
          check_close(got.d_bias, want.d_bias, 1e-5, sizeof(T) == 2 ? 0.05 : 1e-4, "d_bias");
        }
}

}  // namespace

TEST_CASE("tanh equals its reference for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_forward<float>();
  check_forward<Bf16>();
  check_forward<Fp16>();
}

TEST_CASE("tanh backward and the bias gradient equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_backward<float>();
  check_backward<Bf16>();
  check_backward<Fp16>();
}

TEST_CASE("NaN goes through tanh and its backward; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 500, columns = 1024, broken = 321 * columns + 77;
  const auto d_out = random_elements<Bf16>(rows * columns, 2);
  auto out = outputs<Bf16>(rows * columns);
  const std::vector<float> before(columns);
  const auto first = device_of(d_out, out, rows, columns, true, false, before, 0);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto again = device_of(d_out, out, rows, columns, true, false, before, 0);
    CHECK((same_bits(again.d_pre, first.d_pre) && same_bits(again.d_bias, first.d_bias)));
  }
  narrow(std::numeric_limits<float>::quiet_NaN(), out[broken]);
  const auto got = device_of(d_out, out, rows, columns, true, false, before, 0);
  CHECK((std::isnan(widened(got.d_pre[broken])) && std::isnan(got.d_bias[77]) &&
         !std::isnan(got.d_bias[78])));
  const OnDevice<Bf16> in(out);
  require_success(trainx::kernels::tanh(in.data(), in.data(), rows * columns, nullptr), "tanh");
  const auto through = in.host();
  CHECK((std::isnan(widened(through[broken])) && !std::isnan(widened(through[broken + 1]))));
}

}  // namespace tanh_test
