// trainx's own calls for CPUs against the operators that they stand for, with every gradient.
#include "exported/cpu/biased_attention.hpp"
#include "exported/cpu/gated_silu.hpp"
#include "exported/cpu/masked.hpp"
#include "exported/cpu/rms_norm.hpp"
#include "exported/cpu/rotation.hpp"
#include "exported/cpu/small_table.hpp"
#include "support/catch.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/autograd.h>
#include <cstdint>
#include <limits>
#include <optional>

namespace cpu_calls_test {

using namespace trainx;
namespace cpu = exported::cpu;

namespace {

using Tensors = std::vector<at::Tensor>;

void begin() {
  constexpr std::uint64_t seed = 20240611;
  UNSCOPED_INFO("seed " << seed);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(seed);
}

bool close(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-5, 2e-5); }

/// Both functions of the same leaves have the same result and gradients; without a graph the first
/// has the same bits.
template <class Own, class Other>
void check_same(const Tensors& leaves, Own&& own, Other&& other) {
  for (const at::Tensor& x : leaves) x.requires_grad_(true);
  const at::Tensor got = own(leaves), want = other(leaves);
  REQUIRE(got.sizes() == want.sizes());
  CHECK(close(got, want));
  const at::Tensor seed = at::randn(want.sizes());
  const Tensors gradients = torch::autograd::grad({got}, leaves, {seed}),
                wanted = torch::autograd::grad({want}, leaves, {seed});
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    CAPTURE(k);
    REQUIRE(gradients[k].sizes() == leaves[k].sizes());
    CHECK(close(gradients[k], wanted[k]));
  }
  const at::NoGradGuard no_gradients;
  CHECK(at::equal(own(leaves), got));
}

at::Tensor attend(const Tensors& x, std::optional<double> scale) {
  std::vector<c10::IValue> stack{x[0], x[1], x[2], x[3], 0.0, false, c10::IValue(), false};
  if (scale) stack[6] = *scale;
  if (!cpu::attend_with_bias(stack)) return {};
  return stack.at(0).toTensor();
}

}  // namespace

TEST_CASE("RMSNorm of rows") {
  begin();
  const auto n = GENERATE(1, 7, 64, 1000);
  CAPTURE(n);
  check_same(
      {at::randn({3, 5, n}), at::randn({n})},
      [&](const Tensors& t) { return cpu::rms_norm(t[0], t[1], 1e-5); },
      [&](const Tensors& t) { return at::rms_norm(t[0], {n}, t[1], 1e-5); });
  // rows that do not lie one behind the other
  check_same(
      {at::randn({n, 6}), at::randn({n})},
      [&](const Tensors& t) { return cpu::rms_norm(t[0].t(), t[1], 1e-6); },
      [&](const Tensors& t) { return at::rms_norm(t[0].t(), {n}, t[1], 1e-6); });
}

TEST_CASE("a gate of SiLU") {
  begin();
  const auto n = GENERATE(1, 15, 16, 40001);
  CAPTURE(n);
  // far values too: exp overflows there
  check_same(
      {at::randn({n}) * 60, at::randn({n})},
      [](const Tensors& t) { return cpu::gated_silu(t[0], t[1]); },
      [](const Tensors& t) { return at::silu(t[0]) * t[1]; });
  const at::Tensor nan = at::full({3}, std::numeric_limits<float>::quiet_NaN());
  CHECK(cpu::gated_silu(nan, at::full({3}, 1.0f)).isnan().all().item<bool>());
}

TEST_CASE("RoPE of heads") {
  begin();
  const auto width = GENERATE(2, 6, 64);
  CAPTURE(width);
  const at::Tensor cos = at::randn({1, 1, 9, width}), sin = at::randn({2, 1, 9, width});
  const auto by_parts = [&](const at::Tensor& x) {
    const at::Tensor a = x.slice(-1, 0, width / 2), b = x.slice(-1, width / 2, width);
    return x * cos + at::cat({-b, a}, -1) * sin;
  };
  const at::Tensor x = at::randn({2, 9, 3, width});
  REQUIRE(cpu::can_rotate(x.transpose(1, 2), cos, sin));
  check_same(
      {x}, [&](const Tensors& t) { return cpu::rotated(t[0].transpose(1, 2), cos, sin); },
      [&](const Tensors& t) { return by_parts(t[0].transpose(1, 2)); });
  // a part of a head, and columns that lie apart
  check_same(
      {at::randn({2, 3, 9, width + 3})},
      [&](const Tensors& t) { return cpu::rotated(t[0].slice(-1, 0, width), cos, sin); },
      [&](const Tensors& t) { return by_parts(t[0].slice(-1, 0, width)); });
  check_same(
      {at::randn({2, 3, width, 9})},
      [&](const Tensors& t) { return cpu::rotated(t[0].transpose(2, 3), cos, sin); },
      [&](const Tensors& t) { return by_parts(t[0].transpose(2, 3)); });
  CHECK_FALSE(cpu::can_rotate(at::randn({2, 9, width}), cos, sin));
  CHECK_FALSE(cpu::can_rotate(at::randn({2, 3, 8, width}), cos, sin));
  CHECK_FALSE(cpu::can_rotate(at::randn({2, 3, 9, width}), cos, at::randn({2, 1, 9, 1})));
}

TEST_CASE("a table of few rows that many ids read") {
  begin();
  const at::Tensor ids = at::randint(0, 5, {11, 12}, at::kLong);
  const at::Tensor table = at::randn({7, 3});
  REQUIRE(cpu::is_small_table(table, ids));
  check_same(
      {table},
      [&](const Tensors& t) {
        return cpu::small_table_rows(t[0], ids).permute({2, 0, 1});
      },
      [&](const Tensors& t) {
        return at::embedding(t[0], ids).permute({2, 0, 1});
      });
  CHECK_FALSE(cpu::is_small_table(at::randn({9, 3}), ids));
  CHECK_THROWS(cpu::small_table_rows(at::randn({2, 3}), ids + 2));
}

TEST_CASE("biases that a mask hides") {
  begin();
  const double lowest = std::numeric_limits<float>::lowest();
  const auto check = [&](at::IntArrayRef mask, at::IntArrayRef bias) {
    const at::Tensor kept = at::randn(mask) > 0;
    const at::Tensor x = at::randn(bias);
    REQUIRE(cpu::can_mask(kept, x));
    check_same(
        {x}, [&](const Tensors& t) { return cpu::masked(kept, t[0], lowest); },
        [&](const Tensors& t) { return at::where(kept, t[0], lowest); });
  };
  check({2, 1, 5, 9}, {1, 3, 5, 9});
  check({2, 3, 5, 9}, {2, 3, 5, 9});
  check({1, 1, 5, 9}, {2, 3, 5, 9});
  check({2, 1, 1, 9}, {1, 3, 5, 1});
  check({2, 1, 5, 1}, {2, 1, 1, 9});
  check({1, 1, 1, 1}, {2, 3, 5, 1});
  const at::Tensor kept = at::randn({2, 1, 5, 9}) > 0;
  check_same(
      {at::randn({5, 9, 3})},  // columns that lie apart
      [&](const Tensors& t) {
        return cpu::masked(kept, t[0].permute({2, 0, 1}).unsqueeze(0), -1);
      },
      [&](const Tensors& t) {
        return at::where(kept, t[0].permute({2, 0, 1}).unsqueeze(0), -1);
      });
  CHECK_FALSE(cpu::can_mask(kept, at::randn({5, 9})));
  CHECK_FALSE(cpu::can_mask(kept, at::randn({2, 1, 5, 8})));
  CHECK_FALSE(cpu::can_mask(at::randn({2, 1, 5, 9}), at::randn({2, 1, 5, 9})));
}

TEST_CASE("attention whose bias has a gradient") {
  begin();
  const auto scale = GENERATE(std::optional<double>{}, std::optional<double>{1.0});
  const auto heads_of_bias = GENERATE(1, 3);
  CAPTURE(heads_of_bias);
  const auto own = [&](const Tensors& t) { return attend(t, scale); };
  const auto other = [&](const Tensors& t) {
    return at::scaled_dot_product_attention(t[0], t[1], t[2], t[3], 0.0, false, scale);
  };
  const auto leaves = [](at::IntArrayRef bias) {
    return Tensors{at::randn({2, 3, 10, 8}), at::randn({2, 3, 17, 8}), at::randn({2, 3, 17, 8}),
                   at::randn(bias)};
  };
  check_same(leaves({1, heads_of_bias, 10, 17}), own, other);
  check_same(leaves({2, heads_of_bias, 10, 17}), own, other);
  check_same(leaves({1, heads_of_bias, 10, 1}), own, other);
  check_same(leaves({10, 17}), own, other);
  // heads of one token side by side, as linear operators make them
  const auto by_head = [](const Tensors& t) {
    return Tensors{t[0].transpose(1, 2), t[1].transpose(1, 2), t[2].transpose(1, 2), t[3]};
  };
  check_same(
      {at::randn({2, 10, 3, 8}), at::randn({2, 17, 3, 8}), at::randn({2, 17, 3, 8}),
       at::randn({2, 3, 10, 17})},
      [&](const Tensors& t) { return own(by_head(t)); },
      [&](const Tensors& t) { return other(by_head(t)); });
}

TEST_CASE("attention hides what the bias hides") {
  begin();
  Tensors x{at::randn({1, 1, 3, 4}), at::randn({1, 1, 3, 4}), at::randn({1, 1, 3, 4}),
            at::randn({1, 1, 3, 3})};
  x[3].select(-1, 2).fill_(std::numeric_limits<float>::lowest());
  x[3].select(-2, 1).fill_(-std::numeric_limits<float>::infinity());
  const at::Tensor got = attend(x, {});
  CHECK(got.select(2, 1).eq(0).all().item<bool>());  // a query that sees nothing
  x[2].select(2, 2).fill_(1e9);
  CHECK(at::equal(attend(x, {}), got));
  x[0].select(2, 0).fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(attend(x, {}).select(2, 0).isnan().all().item<bool>());
  // of other shapes and types: LibTorch's
  CHECK_FALSE(attend({x[0], x[1], x[2], x[3] > 0}, {}).defined());
  CHECK_FALSE(attend({x[0], x[1], x[2].slice(-1, 0, 2), x[3]}, {}).defined());
}

}  // namespace cpu_calls_test
