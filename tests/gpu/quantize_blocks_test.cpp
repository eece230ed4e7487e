#include "kernels/activation/gated.hpp"
#include "kernels/quantize/quantize_blocks.hpp"
#include "gpu/pointwise_case.hpp"

namespace quantize_blocks_test {

using namespace trainx::kernels;

namespace {

struct Made {
  std::vector<std::uint8_t> values, transposed;
  std::vector<float> scales, transposed_scales;
  std::vector<double> counts = std::vector<double>(fp8_counts, 1000);
  std::vector<float> sums = {};
};

enum class Copies : std::uint8_t { both, values, transposed };

/// Memory of both copies, as if something else had been there.
Made before(const BlockQuantization<Bf16>& op) {
  const auto n = static_cast<std::size_t>(op.rows * op.columns);
  const auto scales = [&](std::int64_t rows, std::int64_t columns) {
    return std::vector<float>(static_cast<std::size_t>(fp8_scales(op.granularity, rows, columns)),
                              -1.0f);
  };
  return {std::vector<std::uint8_t>(n, 0x55), std::vector<std::uint8_t>(n, 0x55),
          scales(op.rows, op.columns), scales(op.columns, op.rows)};
}

void want_copies(BlockQuantization<Bf16>& op, Copies copies) {
  if (copies == Copies::transposed) op.values = nullptr;
  if (copies == Copies::values) op.transposed = nullptr;
}

Made on_host(BlockQuantization<Bf16> op, const std::vector<Bf16>& x, Copies copies = Copies::both) {
  Made made = before(op);
  op.x = x.data();
  op.values = made.values.data(), op.scales = made.scales.data();
  op.transposed = made.transposed.data(), op.transposed_scales = made.transposed_scales.data();
  op.counts = made.counts.data();
  want_copies(op, copies);
  quantize_blocks_reference(op);
  return made;
}

Made on_device(BlockQuantization<Bf16> op, const std::vector<Bf16>& x,
               const std::vector<Bf16>& pre = {}, const std::vector<float>& sums = {},
               Copies copies = Copies::both, std::size_t shift = 0) {
  Made made = before(op);
  const OnDevice<Bf16> in(x, shift), at(pre);
  const OnDevice<std::uint8_t> values(made.values, shift), transposed(made.transposed, shift);
  const OnDevice<float> scales(made.scales), transposed_scales(made.transposed_scales),
      column_sums(sums);
  const OnDevice<double> counts(made.counts);
  const Folding folding(quantize_partial_bytes(op.columns));
  op.x = in.data(), op.pre = pre.empty() ? nullptr : at.data();
  op.values = values.data(), op.scales = scales.data();
  op.transposed = transposed.data(), op.transposed_scales = transposed_scales.data();
  op.counts = counts.data();
  op.column_sums = sums.empty() ? nullptr : column_sums.data();
  want_copies(op, copies);
  require_success(quantize_blocks(op, folding.memory(), nullptr), "quantize_blocks");
  made.values = values.host(), made.transposed = transposed.host();
  made.scales = scales.host(), made.transposed_scales = transposed_scales.host();
  made.counts = counts.host(), made.sums = column_sums.host();
  folding.check();
  return made;
}

void check_same(const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& want,
                const char* what) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i])
      FAIL(what << "[" << i << "] is " << int{got[i]} << " instead of " << int{want[i]});
}

void check_equal(const Made& got, const Made& want) {
  CHECK(same_bits(got.scales, want.scales));
  check_same(got.values, want.values, "values");
  CHECK(same_bits(got.transposed_scales, want.transposed_scales));
  check_same(got.transposed, want.transposed, "transposed");
  CHECK(got.counts == want.counts);
}

BlockQuantization<Bf16> operation(std::int64_t rows, std::int64_t columns,
                                  Fp8Granularity granularity) {
  BlockQuantization<Bf16> op;
  op.rows = rows, op.columns = columns, op.granularity = granularity;
  return op;
}

void check(const std::vector<Bf16>& x, std::int64_t rows, std::int64_t columns,
           std::size_t shift = 0) {
  for (const auto granularity : {Fp8Granularity::vector, Fp8Granularity::block})
    for (const Copies copies : {Copies::both, Copies::values, Copies::transposed}) {
      INFO("rows " << rows << " columns " << columns << " shift " << shift << " granularity "
                   << static_cast<int>(granularity) << " copies " << static_cast<int>(copies));
      const auto op = operation(rows, columns, granularity);
      check_equal(on_device(op, x, {}, {}, copies, shift), on_host(op, x, copies));
    }
}

std::vector<Bf16> elements_of(const std::vector<float>& values) {
  std::vector<Bf16> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) narrow(values[i], out[i]);
  return out;
}

struct Size {
  std::int64_t rows, columns;
};

}  // namespace

TEST_CASE("casts with scales of blocks have their reference's bits for all sizes and alignments",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Size s : {Size{1, 1},
                       {1, 16},
                       {16, 1},
                       {16, 16},
                       {17, 33},
                       {127, 129},
                       {128, 128},
                       {129, 127},
                       {144, 272},
                       {33, 768},
                       {640, 656},
                       {1000, 48}})
    for (const std::size_t shift : {0u, 1u})
      check(random_elements<Bf16>(s.rows * s.columns, static_cast<unsigned>(s.rows), 3), s.rows,
            s.columns, shift);
  check(random_elements<Bf16>(4096 * 1600, 9, 0.01f), 4096, 1600);  // many thread blocks
}

TEST_CASE("every bf16 number is cast with scales of blocks as by the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  // each beside others of its size, and beside those of all sizes
  std::vector<Bf16> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7f80) != 0x7f80) all.push_back({static_cast<std::uint16_t>(bits)});
  const auto columns = static_cast<std::int64_t>(all.size()) / 16;
  check(all, 16, columns);
  std::vector<Bf16> across(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) across[i] = all[i * 7919 % all.size()];
  check(across, 16, columns);
}

TEST_CASE("zeros, NaN, infinity and one huge value with scales of blocks", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check(elements_of(std::vector<float>(160 * 144, 0.0f)), 160, 144);
  check(elements_of(std::vector<float>(160 * 144, -0.0f)), 160, 144);
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const float one : {infinity, -infinity, nan, -nan, 1e30f, -1e-38f}) {
    auto x = random_elements<Bf16>(300 * 400, 3);
    narrow(one, x[131 * 400 + 130]);
    check(x, 300, 400);
    check(x, 400, 300);
  }
  const auto op = operation(0, 16, Fp8Granularity::vector);
  const Made empty = on_device(op, {}, {}, std::vector<float>(16, 2.0f));
  CHECK(empty.sums == std::vector<float>(16, 0.0f));
}

TEST_CASE("activations and gates are cast with scales of blocks as if they had been kept in bf16",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Size s : {Size{16, 16}, {144, 272}, {1024, 768}, {4096, 3072}}) {
    INFO("rows " << s.rows << " columns " << s.columns);
    const std::int64_t n = s.rows * s.columns;
    const auto pre = random_elements<Bf16>(n, 3, 2), gradient = random_elements<Bf16>(n, 4, 1e-4f),
               both = random_elements<Bf16>(2 * n, 5, 2);
    const OnDevice<Bf16> x(pre), gates(both);
    const auto plain = operation(s.rows, s.columns, Fp8Granularity::vector);
    for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu_erf}) {
      INFO("gelu " << static_cast<int>(kind));
      auto op = plain;
      op.source = kind == ActivationKind::gelu_tanh ? Fp8Source::gelu_tanh : Fp8Source::gelu_erf;
      const OnDevice<Bf16> activated(pre);
      require_success(pointwise(activated.data(), x.data(), n, kind, nullptr), "pointwise");
      check_equal(on_device(op, pre), on_host(plain, activated.host()));

      op.source = kind == ActivationKind::gelu_tanh ? Fp8Source::gelu_tanh_gradient
                                                    : Fp8Source::gelu_erf_gradient;
      const std::vector<float> sums(static_cast<std::size_t>(s.columns), 0.5f);
      for (const bool accumulate : {false, true}) {
        op.accumulate = accumulate;
        const Made made = on_device(op, gradient, pre, sums);
        const auto separate = gradients_on_device(
            {.rows = s.rows, .columns = s.columns, .kind = kind, .accumulate = accumulate},
            gradient, pre, sums);
        check_equal(made, on_host(plain, separate.d_pre));
        // sums in two orders
        const double noise = 1e-5 * std::sqrt(static_cast<double>(s.rows)) * 1e-3;
        check_close(made.sums, separate.d_bias, 1e-5, noise, "column sums");
        CHECK(same_bits(on_device(op, gradient, pre, sums).sums, made.sums));
        CHECK(same_bits(on_device(op, gradient, pre, sums, Copies::values).sums, made.sums));
      }
    }
    for (const ActivationKind kind : {ActivationKind::silu, ActivationKind::gelu_tanh}) {
      INFO("gate " << static_cast<int>(kind));
      auto op = plain;
      op.source = kind == ActivationKind::silu ? Fp8Source::gated_silu : Fp8Source::gated_gelu_tanh;
      const OnDevice<Bf16> out(pre);
      require_success(
          gated(Gated<Bf16>{s.rows, s.columns, gates.data(), out.data()}, kind, nullptr), "gated");
      check_equal(on_device(op, both), on_host(plain, out.host()));

      // of a gradient of half the columns
      if (s.columns % 32 != 0) continue;
      op.source = kind == ActivationKind::silu ? Fp8Source::gated_silu_gradient
                                               : Fp8Source::gated_gelu_tanh_gradient;
      const std::vector<Bf16> d_half(gradient.begin(), gradient.begin() + n / 2);
      const OnDevice<Bf16> d_gated(d_half), d_x(pre);
      require_success(gated_backward(GatedBackward<Bf16>{s.rows, s.columns / 2, d_gated.data(),
                                                         x.data(), d_x.data()},
                                     kind, nullptr),
                      "gated_backward");
      check_equal(on_device(op, d_half, pre), on_host(plain, d_x.host()));
    }
  }
}

}  // namespace quantize_blocks_test
