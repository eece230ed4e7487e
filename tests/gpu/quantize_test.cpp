#include "kernels/activation/gated.hpp"
#include "kernels/quantize/quantize.hpp"
#include "gpu/pointwise_case.hpp"

namespace quantize_test {

using namespace trainx::kernels;

namespace {

struct Made {
  std::vector<float> scale;
  std::vector<std::uint8_t> values, transposed;
  std::vector<double> counts = std::vector<double>(fp8_counts, 1000),
                      exponents = std::vector<double>(fp8_exponents);
  std::vector<float> sums;
  int largest_exponent() const {
    int at = fp8_exponents;
    while (at > 0 && exponents[static_cast<std::size_t>(at) - 1] == 0) --at;
    return at;
  }
};

enum class Copies : std::uint8_t { both, values, transposed };

template <class T>
Quantization<T> operation(std::int64_t rows, std::int64_t columns, Fp8Format format) {
  Quantization<T> op;
  op.rows = rows, op.columns = columns, op.format = format;
  return op;
}

template <class T>
Made on_host(const std::vector<T>& x, std::int64_t rows, std::int64_t columns, Fp8Format format) {
  Made made{{0}, std::vector<std::uint8_t>(x.size()), std::vector<std::uint8_t>(x.size())};
  auto op = operation<T>(rows, columns, format);
  op.x = x.data(), op.scale = made.scale.data();
  op.values = made.values.data(), op.transposed = made.transposed.data();
  op.counts = made.counts.data(), op.exponents = made.exponents.data();
  quantize_reference(op);
  return made;
}

template <class T>
Made on_device(const std::vector<T>& x, std::int64_t rows, std::int64_t columns, Fp8Format format,
               std::size_t shift, Copies copies = Copies::both) {
  const OnDevice<T> in(x, shift);
  const OnDevice<float> scale(std::vector<float>{-1});
  const std::vector<std::uint8_t> before(x.size(), 0x55);
  const OnDevice<std::uint8_t> values(before, shift), transposed(before, shift);
  const Folding folding(quantize_partial_bytes(columns));
  Made made;
  const OnDevice<double> counts(made.counts), exponents(made.exponents);
  auto op = operation<T>(rows, columns, format);
  op.x = in.data(), op.scale = scale.data();
  if (copies != Copies::transposed) op.values = values.data();
  if (copies != Copies::values) op.transposed = transposed.data();
  op.counts = counts.data(), op.exponents = exponents.data();
  require_success(quantize(op, folding.memory(), nullptr), "quantize");
  made.scale = scale.host(), made.values = values.host(), made.transposed = transposed.host();
  made.counts = counts.host(), made.exponents = exponents.host();
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

template <class T>
void check(const std::vector<T>& x, std::int64_t rows, std::int64_t columns, std::size_t shift) {
  for (const Fp8Format format : {Fp8Format::e4m3, Fp8Format::e5m2}) {
    INFO("rows " << rows << " columns " << columns << " shift " << shift << " format "
                 << static_cast<int>(format) << " element " << sizeof(T));
    const Made want = on_host(x, rows, columns, format),
               got = on_device(x, rows, columns, format, shift);
    CHECK(same_bits(got.scale, want.scale));
    check_same(got.values, want.values, "values");
    check_same(got.transposed, want.transposed, "transposed");
    CHECK(got.counts == want.counts);
    CHECK(got.largest_exponent() == want.largest_exponent());
    const std::vector<std::uint8_t> untouched(x.size(), 0x55);
    const Made rows_alone = on_device(x, rows, columns, format, shift, Copies::values),
               columns_alone = on_device(x, rows, columns, format, shift, Copies::transposed);
    check_same(rows_alone.values, want.values, "values alone");
    check_same(rows_alone.transposed, untouched, "what was not wanted");
    check_same(columns_alone.transposed, want.transposed, "transposed alone");
    check_same(columns_alone.values, untouched, "what was not wanted");
  }
}

template <class T>
std::vector<T> elements_of(const std::vector<float>& values) {
  std::vector<T> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) narrow(values[i], out[i]);
  return out;
}

template <class T>
void check_sizes() {
  struct Size {
    std::int64_t rows, columns;
  };
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
                       {1000, 48}})
    for (const std::size_t shift : {0u, 1u})
      check(random_elements<T>(s.rows * s.columns, static_cast<unsigned>(s.rows), 3), s.rows,
            s.columns, shift);
}

}  // namespace

TEST_CASE("casts to fp8 have their reference's bits for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_sizes<float>();
  check_sizes<Bf16>();
  check_sizes<Fp16>();
  check(random_elements<Bf16>(4096 * 1600, 9, 0.01f), 4096, 1600, 0);  // many blocks
  check(random_elements<float>(7, 1), 7, 1, 0);
}

TEST_CASE("every bf16 number is cast to fp8 as by the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  std::vector<Bf16> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7f80) != 0x7f80) all.push_back({static_cast<std::uint16_t>(bits)});
  check(all, 2, static_cast<std::int64_t>(all.size()) / 2, 0);
  // with scales that are no power of two, so that quotients are rounded
  for (const float largest : {1.0f, 448.0f, 300.7f, 57344.0f, 1e-3f, 1e-37f, 1e-41f}) {
    std::vector<float> near;
    for (const Bf16 b : all)
      if (const float x = widened(b); std::abs(x) <= largest) near.push_back(x * 0.9970703125f);
    near.push_back(largest);
    check(near, 1, static_cast<std::int64_t>(near.size()), 0);
  }
}

TEST_CASE("zeros stay zeros in fp8; NaN and infinity show in scale and values", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check(std::vector<float>(16 * 48, 0.0f), 16, 48, 0);
  check(std::vector<float>(16 * 48, -0.0f), 16, 48, 0);
  CHECK(on_device(std::vector<float>(32, 0.0f), 2, 16, Fp8Format::e4m3, 0).scale[0] == 0x1p-126f);
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {infinity, -infinity, nan, -nan}) {
    std::vector<float> x(64 * 48, 1.5f);
    x[1234] = bad;
    check(x, 64, 48, 0);
    check(elements_of<Bf16>(x), 64, 48, 0);
    check(elements_of<Fp16>(x), 64, 48, 0);
    const Made made = on_device(x, 64, 48, Fp8Format::e5m2, 0);
    CHECK(std::isnan(made.scale[0]));
    for (const std::uint8_t v : made.values)
      if ((v & 0x7f) != 0x7f) FAIL("a value that is no NaN: " << int{v});
  }
  const Made empty = on_device(std::vector<float>(), 0, 16, Fp8Format::e4m3, 0);
  CHECK(empty.scale[0] == 0x1p-126f);
}

TEST_CASE("parts of a tensor are cast by a scale that is there", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto x = random_elements<Bf16>(4 * 128, 3);
  const Made whole = on_host(x, 4, 128, Fp8Format::e4m3);
  const OnDevice<Bf16> in(x, 0);
  const OnDevice<float> scale(whole.scale);
  const OnDevice<std::uint8_t> values(std::vector<std::uint8_t>(x.size()), 0);
  const Folding folding(quantize_partial_bytes(128));
  for (const std::int64_t row : {0, 2}) {
    auto op = operation<Bf16>(2, 128, Fp8Format::e4m3);
    op.x = in.data() + row * 128, op.values = values.data() + row * 128;
    op.scale = scale.data(), op.scale_is_made = true;
    require_success(quantize(op, folding.memory(), nullptr), "quantize");
  }
  check_same(values.host(), whole.values, "values");
  CHECK(scale.host() == whole.scale);
}

TEST_CASE("casts to fp8 repeat to the bit, also where one element is the largest", "[gpu]") {
  TRAINX_NEEDS_GPU();
  auto x = random_elements<Bf16>(8192 * 768, 4);
  for (const std::size_t at : {std::size_t{0}, x.size() / 2 + 77, x.size() - 1}) {
    const Bf16 before = x[at];
    narrow(-1000.0f, x[at]);
    const Made first = on_device(x, 8192, 768, Fp8Format::e4m3, 0);
    CHECK(first.scale[0] == 1000.0f / 448);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Made again = on_device(x, 8192, 768, Fp8Format::e4m3, 0);
      CHECK(same_bits(again.scale, first.scale));
      CHECK(same_bits(again.values, first.values));
      CHECK(same_bits(again.transposed, first.transposed));
    }
    x[at] = before;
  }
}

namespace {

/// What quantize makes of `x` as `op` says.
Made cast_on_device(Quantization<Bf16> op, const std::vector<Bf16>& x, const std::vector<Bf16>& pre,
                    std::vector<float> sums, double known = 0) {
  Made made;
  const OnDevice<Bf16> in(x), at(pre);
  const OnDevice<float> scale(std::vector<float>{-1}), column_sums(sums);
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(op.rows * op.columns));
  const OnDevice<std::uint8_t> values(none), transposed(none);
  const OnDevice<double> counts(made.counts), exponents(made.exponents),
      range(std::vector<double>{known});
  const Folding folding(quantize_partial_bytes(op.columns));
  op.x = in.data(), op.pre = pre.empty() ? nullptr : at.data(), op.scale = scale.data();
  op.values = values.data(), op.transposed = transposed.data();
  op.counts = counts.data(), op.exponents = exponents.data(), op.known = range.data();
  op.column_sums = sums.empty() ? nullptr : column_sums.data();
  require_success(quantize(op, folding.memory(), nullptr), "quantize");
  folding.check();
  made.scale = scale.host(), made.values = values.host(), made.transposed = transposed.host();
  made.counts = counts.host(), made.exponents = exponents.host(), made.sums = column_sums.host();
  return made;
}

void check_equal(const Made& got, const Made& want) {
  CHECK(same_bits(got.scale, want.scale));
  check_same(got.values, want.values, "values");
  check_same(got.transposed, want.transposed, "transposed");
  CHECK(got.counts == want.counts);
  CHECK(got.largest_exponent() == want.largest_exponent());
}

}  // namespace

TEST_CASE("GELU and its gradient are cast to fp8 as if they had been kept in bf16", "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Size {
    std::int64_t rows, columns;
  };
  for (const Size s : {Size{16, 16}, {144, 272}, {1024, 768}, {16384, 3072}, {48, 6400}})
    for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu_erf}) {
      INFO("rows " << s.rows << " columns " << s.columns << " kind " << static_cast<int>(kind));
      const bool tanh = kind == ActivationKind::gelu_tanh;
      const std::int64_t n = s.rows * s.columns;
      const auto pre = random_elements<Bf16>(n, 3, 2),
                 gradient = random_elements<Bf16>(n, 4, 1e-4f);
      const OnDevice<Bf16> x(pre);
      auto op = operation<Bf16>(s.rows, s.columns, Fp8Format::e4m3);
      op.source = tanh ? Fp8Source::gelu_tanh : Fp8Source::gelu_erf;
      const Made forward = cast_on_device(op, pre, {}, {});
      const OnDevice<Bf16> activated(pre);
      require_success(pointwise(activated.data(), x.data(), n, kind, nullptr), "pointwise");
      op.source = Fp8Source::plain;
      check_equal(forward, cast_on_device(op, activated.host(), {}, {}));

      op = operation<Bf16>(s.rows, s.columns, Fp8Format::e5m2);
      op.source = tanh ? Fp8Source::gelu_tanh_gradient : Fp8Source::gelu_erf_gradient;
      const std::vector<float> before(static_cast<std::size_t>(s.columns), 0.5f);
      for (const bool accumulate : {false, true}) {
        op.accumulate = accumulate;
        const Made backward = cast_on_device(op, gradient, pre, before);
        const auto separate = gradients_on_device(
            {.rows = s.rows, .columns = s.columns, .kind = kind, .accumulate = accumulate},
            gradient, pre, before);
        auto plain = op;
        plain.source = Fp8Source::plain;
        const Made apart = cast_on_device(plain, separate.d_pre, {}, before);
        check_equal(backward, apart);
        // sums in two orders
        const double noise = 1e-5 * std::sqrt(static_cast<double>(s.rows)) * 1e-3;
        check_close(backward.sums, separate.d_bias, 1e-5, noise, "column sums");
        check_close(apart.sums, separate.d_bias, 1e-5, noise, "column sums of what is there");
        CHECK(same_bits(cast_on_device(op, gradient, pre, before).sums, backward.sums));
      }
    }
}

TEST_CASE("a gated activation is cast to fp8 as if it had been kept in bf16", "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Size {
    std::int64_t rows, columns;
  };
  for (const Size s : {Size{16, 16}, {144, 272}, {1024, 4864}, {16, 14336}})
    for (const ActivationKind kind : {ActivationKind::silu, ActivationKind::gelu_tanh}) {
      INFO("rows " << s.rows << " columns " << s.columns << " kind " << static_cast<int>(kind));
      const auto both = random_elements<Bf16>(2 * s.rows * s.columns, 5, 2);
      auto op = operation<Bf16>(s.rows, s.columns, Fp8Format::e4m3);
      op.source = kind == ActivationKind::silu ? Fp8Source::gated_silu : Fp8Source::gated_gelu_tanh;
      const Made got = cast_on_device(op, both, {}, {});
      const OnDevice<Bf16> x(both), out(random_elements<Bf16>(s.rows * s.columns, 6));
      require_success(gated(Gated<Bf16>{s.rows, s.columns, x.data(), out.data()}, kind, nullptr),
                      "gated");
      op.source = Fp8Source::plain;
      check_equal(got, cast_on_device(op, out.host(), {}, {}));
    }
}

TEST_CASE("the gradient of a gate is cast to fp8 as if it had been kept in bf16", "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Size {
    std::int64_t rows, columns;  // of each half
  };
  for (const Size s : {Size{16, 16}, {144, 272}, {1024, 4864}, {16, 14336}})
    for (const ActivationKind kind : {ActivationKind::silu, ActivationKind::gelu_tanh}) {
      INFO("rows " << s.rows << " columns " << s.columns << " kind " << static_cast<int>(kind));
      const std::int64_t n = s.rows * s.columns;
      const auto gates = random_elements<Bf16>(2 * n, 5, 2), d_out = random_elements<Bf16>(n, 7);
      auto op = operation<Bf16>(s.rows, 2 * s.columns, Fp8Format::e5m2);
      op.source = kind == ActivationKind::silu ? Fp8Source::gated_silu_gradient
                                               : Fp8Source::gated_gelu_tanh_gradient;
      const std::vector<float> sums(static_cast<std::size_t>(2 * s.columns), 3);
      const Made got = cast_on_device(op, d_out, gates, sums);
      const OnDevice<Bf16> x(gates), d(d_out), d_x(gates);
      require_success(
          gated_backward(GatedBackward<Bf16>{s.rows, s.columns, d.data(), x.data(), d_x.data()},
                         kind, nullptr),
          "gated_backward");
      op.source = Fp8Source::plain;
      check_equal(got, cast_on_device(op, d_x.host(), {}, sums));
    }
}

TEST_CASE("a known range gives the scale of fp8, and what lies far outside it is counted",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto x = random_elements<Bf16>(512 * 256, 5);
  for (const Fp8Format format : {Fp8Format::e4m3, Fp8Format::e5m2})
    for (const double known : {0.0, 8.0, 0.25, 0x1p30}) {
      INFO("range " << known << " format " << static_cast<int>(format));
      auto op = operation<Bf16>(512, 256, format);
      const Made got = cast_on_device(op, x, {}, {}, known);
      Made want{{0}, std::vector<std::uint8_t>(x.size()), std::vector<std::uint8_t>(x.size())};
      op.x = x.data(), op.scale = want.scale.data(), op.values = want.values.data();
      op.transposed = want.transposed.data(), op.known = &known;
      op.counts = want.counts.data(), op.exponents = want.exponents.data();
      quantize_reference(op);
      check_equal(got, want);
      if (known == 0.25) CHECK(got.counts[fp8_saturated] > 1000);
      if (known == 8.0 || known == 0.0) CHECK(got.counts[fp8_saturated] == 1000);
      if (known == 0x1p30) CHECK(got.counts[fp8_flushed] > 1000);
      // the next step's range: the largest magnitude's power of two
      std::vector<double> state(fp8_range_state);
      advance_fp8_range(state.data(), got.exponents.data());
      CHECK(state[0] == 8);  // of 131072 normal numbers the largest is between 4 and 8
    }
}

TEST_CASE("more blocks than run at the same time find a first scale together", "[gpu]") {
  TRAINX_NEEDS_GPU();
  // so many columns of tiles that some begin when others have ended
  const std::int64_t rows = 16, columns = 120000;
  auto x = random_elements<Bf16>(rows * columns, 5);
  narrow(-300.0f, x.back());
  for (const Fp8Format format : {Fp8Format::e4m3, Fp8Format::e5m2}) {
    INFO("format " << static_cast<int>(format));
    Made want = on_host(x, rows, columns, format);
    const Made got = cast_on_device(operation<Bf16>(rows, columns, format), x, {}, {});
    check_equal(got, want);
  }
}

}  // namespace quantize_test
