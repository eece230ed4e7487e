#include "kernels/activation/clamped_gated.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace clamped_gated_test {

using namespace trainx::kernels;

namespace {

constexpr GateLimits limits{1.702f, 7};

/// Some beyond each limit and at it.
template <class T>
std::vector<T> pairs(std::int64_t n) {
  auto x = random_elements<T>(2 * n, 1, 4);
  const float edges[] = {7, 7, -7, -7, 200, 200, -200, -200, 0, -0.0f, 7.5f, -7.5f};
  for (std::size_t i = 0; i < std::min(x.size(), std::size(edges)); ++i) narrow(edges[i], x[i]);
  return x;
}

template <class T>
void compare(std::int64_t n, std::size_t shift) {
  INFO("elements " << n << " shift " << shift << " bytes " << sizeof(T));
  const auto x = pairs<T>(n), d_out = random_elements<T>(n, 2);
  std::vector<T> want(d_out.size()), want_d(x.size());
  clamped_gated_reference(ClampedGated<T>{n, limits, x.data(), want.data()});
  clamped_gated_backward_reference(
      ClampedGatedBackward<T>{n, limits, d_out.data(), x.data(), want_d.data()});
  const OnDevice<T> in(x, shift), out(std::vector<T>(want.size()), shift), d(d_out, shift),
      d_x(std::vector<T>(x.size()), shift);
  require_success(clamped_gated(ClampedGated<T>{n, limits, in.data(), out.data()}, nullptr),
                  "gate");
  check_close(out.host(), want, rounding<T>, 5e-6, "gate");
  require_success(clamped_gated_backward(
                      ClampedGatedBackward<T>{n, limits, d.data(), in.data(), d_x.data()}, nullptr),
                  "gate backward");
  check_close(d_x.host(), want_d, rounding<T>, 3e-5, "d_x");
  // over its operand
  require_success(clamped_gated_backward(
                      ClampedGatedBackward<T>{n, limits, d.data(), in.data(), in.data()}, nullptr),
                  "gate backward");
  CHECK(same_bits(in.host(), d_x.host()));
}

template <class T>
void check_sizes() {
  for (const std::int64_t n : {0, 1, 3, 4, 7, 8, 9, 4'096, 100'003, 3'000'000})
    for (const std::size_t shift : {0u, 1u}) compare<T>(n, shift);
}

}  // namespace

TEST_CASE("gates with limits equal their references for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_sizes<float>();
  check_sizes<Bf16>();
  check_sizes<Fp16>();
}

TEST_CASE("NaN goes through gates with limits, and nowhere else", "[gpu]") {
  TRAINX_NEEDS_GPU();
  constexpr std::int64_t n = 500, at = 123;
  for (const std::int64_t which : {2 * at, 2 * at + 1}) {
    auto x = pairs<float>(n);
    x[static_cast<std::size_t>(which)] = std::numeric_limits<float>::quiet_NaN();
    const OnDevice<float> in(x), out(std::vector<float>(static_cast<std::size_t>(n)));
    require_success(clamped_gated(ClampedGated<float>{n, limits, in.data(), out.data()}, nullptr),
                    "gate");
    const auto y = out.host();
    for (std::int64_t i = 0; i < n; ++i)
      if (std::isnan(y[static_cast<std::size_t>(i)]) != (i == at)) FAIL("output " << i);
  }
}

}  // namespace clamped_gated_test
