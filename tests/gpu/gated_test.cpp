#include "kernels/activation/gated.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace gated_test {

using namespace trainx::kernels;

namespace {

constexpr ActivationKind kinds[] = {ActivationKind::silu, ActivationKind::relu,
                                    ActivationKind::relu_squared, ActivationKind::gelu_tanh,
                                    ActivationKind::gelu_erf};

// Where functions bend, and far out. fp16 holds nothing beyond 65504.
template <class T>
std::vector<T> arguments(std::int64_t n, unsigned seed) {
  auto x = random_elements<T>(n, seed, 3);
  const float edges[] = {0, -0.0f, 1e-3f, -1e-3f, 8, -8, -12, 80, -80, 200, -200};
  for (std::size_t i = 0; i < std::min(x.size(), std::size(edges)); ++i) narrow(edges[i], x[i]);
  return x;
}

template <class T>
void compare(ActivationKind kind, std::int64_t rows, std::int64_t columns, std::size_t shift) {
  INFO("rows " << rows << " columns " << columns << " shift " << shift << " kind "
               << static_cast<int>(kind) << " bytes " << sizeof(T));
  const auto x = arguments<T>(2 * rows * columns, 1);
  const auto d_out = random_elements<T>(rows * columns, 2);
  std::vector<T> want(d_out.size()), want_d_x(x.size());
  gated_reference(Gated<T>{rows, columns, x.data(), want.data()}, kind);
  gated_backward_reference(GatedBackward<T>{rows, columns, d_out.data(), x.data(), want_d_x.data()},
                           kind);
  const OnDevice<T> in(x, shift), out(std::vector<T>(want.size()), shift), d(d_out, shift),
      d_x(std::vector<T>(x.size()), shift);
  require_success(gated(Gated<T>{rows, columns, in.data(), out.data()}, kind, nullptr), "gated");
  check_close(out.host(), want, rounding<T>, 5e-6, "gated");
  require_success(gated_backward(GatedBackward<T>{rows, columns, d.data(), in.data(), d_x.data()},
                                 kind, nullptr),
                  "gated_backward");
  check_close(d_x.host(), want_d_x, rounding<T>, 3e-5, "d_x");
  // over its operand
  require_success(gated_backward(GatedBackward<T>{rows, columns, d.data(), in.data(), in.data()},
                                 kind, nullptr),
                  "gated_backward");
  CHECK(same_bits(in.host(), d_x.host()));
}

template <class T>
void check_sizes(ActivationKind kind) {
  for (const std::int64_t columns : {0, 1, 7, 8, 9, 64, 255, 768, 2051})
    for (const std::int64_t rows : {0, 1, 3, 70})
      for (const std::size_t shift : {0u, 1u}) compare<T>(kind, rows, columns, shift);
}

template <class T>
void check_many_rows() {
  // more pieces than threads, whose steps end in the middle of a row
  compare<T>(ActivationKind::silu, 30'011, 88, 0);
}

}  // namespace

TEST_CASE("gated activations equal their references for all sizes, alignments and kinds", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const ActivationKind kind = kinds[GENERATE(0, 1, 2, 3, 4)];
  check_sizes<float>(kind);
  check_sizes<Bf16>(kind);
  check_sizes<Fp16>(kind);
}

TEST_CASE("gated activations of many rows", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_many_rows<float>();
  check_many_rows<Bf16>();
}

TEST_CASE("NaN goes through gated activations, and nowhere else", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 50, columns = 96, gate = 2 * 17 * columns + 5;
  for (const ActivationKind kind : kinds) {
    auto x = random_elements<float>(2 * rows * columns, 1);
    x[static_cast<std::size_t>(gate)] = std::numeric_limits<float>::quiet_NaN();
    const auto d_out = random_elements<float>(rows * columns, 2);
    const OnDevice<float> in(x), out(d_out), d(d_out), d_x(x);
    require_success(gated(Gated<float>{rows, columns, in.data(), out.data()}, kind, nullptr),
                    "gated");
    require_success(
        gated_backward(GatedBackward<float>{rows, columns, d.data(), in.data(), d_x.data()}, kind,
                       nullptr),
        "gated_backward");
    const auto y = out.host(), dx = d_x.host();
    for (std::int64_t i = 0; i < rows * columns; ++i)
      if (std::isnan(y[static_cast<std::size_t>(i)]) != (i == 17 * columns + 5))
        FAIL("output " << i);
    for (std::int64_t i = 0; i < 2 * rows * columns; ++i)
      if (std::isnan(dx[static_cast<std::size_t>(i)]) != (i == gate || i == gate + columns))
        FAIL("gradient " << i);
  }
}

TEST_CASE("no gate is a tanh", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const OnDevice<float> x(std::vector<float>(16)), y(std::vector<float>(8));
  CHECK(gated(Gated<float>{1, 8, x.data(), y.data()}, ActivationKind::tanh, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(gated_backward(GatedBackward<float>{1, 8, y.data(), x.data(), x.data()},
                       ActivationKind::tanh, nullptr) == cudaErrorInvalidValue);
}

}  // namespace gated_test
