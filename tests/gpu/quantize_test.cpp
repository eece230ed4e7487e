#include "kernels/quantize/quantize.hpp"
#include "gpu/operands.hpp"

using namespace trainx::kernels;

namespace {

struct Made {
  std::vector<float> scale;
  std::vector<std::uint8_t> values, transposed;
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
  const Folding folding(quantize_partial_bytes());
  auto op = operation<T>(rows, columns, format);
  op.x = in.data(), op.scale = scale.data();
  if (copies != Copies::transposed) op.values = values.data();
  if (copies != Copies::values) op.transposed = transposed.data();
  require_success(quantize(op, folding.memory(), nullptr), "quantize");
  Made made{scale.host(), values.host(), transposed.host()};
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
