// The GPU's casts to fp8 by their reference: the bits of the CPU's. How a thread block transposes.
#include "kernels/quantize/quantize.hpp"
#include "operations/quantize/quantize.hpp"
#include "support/catch.hpp"
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace fp8_kernel_test {

using namespace trainx;
using kernels::Fp8Format;
using operations::Fp8;

namespace {

constexpr Fp8 fp8_of(Fp8Format format) { return format == Fp8Format::e4m3 ? Fp8::e4m3 : Fp8::e5m2; }

template <Fp8Format format>
void check_rounding(std::uint32_t bits) {
  const float x = kernels::float_of(bits);
  const int got = kernels::rounded_fp8<format>(x),
            want = operations::rounded_to_fp8<fp8_of(format)>(x);
  if (got != want) FAIL("bits " << bits << ": " << got << " instead of " << want);
}

template <class T>
Tensor tensor_of(std::vector<T>& x, DType dtype, const Dims& dims) {
  return make_tensor(x.data(), dtype, dims);
}

template <class T>
void check_cast(std::vector<float> values, DType dtype, std::int64_t rows, std::int64_t columns,
                Fp8Format format) {
  std::vector<T> x(values.size());
  for (std::size_t i = 0; i < x.size(); ++i) kernels::narrow(values[i], x[i]);
  std::vector<std::uint8_t> want(x.size()), got(x.size()), transposed(x.size());
  std::vector<float> want_scale(1), scale(1);
  operations::quantize({tensor_of(want, DType::u8, {rows, columns}),
                        tensor_of(want_scale, DType::f32, {1}), fp8_of(format)},
                       tensor_of(x, dtype, {rows, columns}));
  kernels::Quantization<T> op;
  op.rows = rows, op.columns = columns, op.format = format;
  op.x = x.data(), op.scale = scale.data();
  op.values = got.data(), op.transposed = transposed.data();
  kernels::quantize_reference(op);
  CHECK(kernels::bits_of(scale[0]) == kernels::bits_of(want_scale[0]));
  CHECK(got == want);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      if (transposed[static_cast<std::size_t>(c * rows + r)] !=
          got[static_cast<std::size_t>(r * columns + c)])
        FAIL("row " << r << " column " << c);
}

}  // namespace

TEST_CASE("a kernel's rounding to fp8 is the CPU's") {
  // all of the upper 20 bits, with lower ones at and beside every tie
  for (std::uint32_t high = 0; high < 1U << 20; ++high)
    for (const std::uint32_t low : {0x000U, 0x001U, 0x800U, 0xfffU}) {
      check_rounding<Fp8Format::e4m3>(high << 12 | low);
      check_rounding<Fp8Format::e5m2>(high << 12 | low);
    }
}

TEST_CASE("a kernel's reference casts to fp8 with the CPU's bits") {
  const Fp8Format format = GENERATE(Fp8Format::e4m3, Fp8Format::e5m2);
  const float spread = GENERATE(1e-30f, 1e-3f, 1.0f, 300.0f);
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> x(33 * 65);
  for (float& v : x) v = normal(random);
  const auto check = [&] {
    check_cast<float>(x, DType::f32, 33, 65, format);
    check_cast<kernels::Bf16>(x, DType::bf16, 33, 65, format);
    check_cast<kernels::Fp16>(x, DType::f16, 33, 65, format);
  };
  check();
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {infinity, -infinity, nan, -nan}) {
    x[700] = bad;
    check();
  }
  x.assign(x.size(), 0);
  x[3] = -0.0f;
  check();
}

TEST_CASE("a thread block's tile holds every byte once and gives it back transposed") {
  constexpr int tile = kernels::fp8_tile, piece = kernels::fp8_piece, pieces = kernels::fp8_pieces;
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(tile) * tile);
  std::set<int> places;
  const auto byte = [](int row, int column) {
    return static_cast<std::uint8_t>(row * 7 + column * 13 + row * column);
  };
  for (int row = 0; row < tile; ++row)
    for (int p = 0; p < pieces; ++p) {
      const int at = kernels::fp8_tile_piece(row, p);
      CHECK(places.insert(at).second);
      for (int j = 0; j < piece; ++j)
        memory.at(static_cast<std::size_t>(at * piece + j)) = byte(row, p * piece + j);
    }
  std::set<std::pair<int, int>> read;
  for (int thread = 0; thread < 256; ++thread) {
    const kernels::Fp8Strip strip = kernels::fp8_strip(thread);
    for (int four = 0; four < 4; ++four) {
      std::uint32_t x[4];
      const int row = strip.group * piece + 4 * four;
      for (int i = 0; i < 4; ++i)
        std::memcpy(
            &x[i],
            memory.data() + piece * kernels::fp8_tile_piece(row + i, strip.piece) + 4 * strip.word,
            4);
      kernels::transpose_bytes(x);
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i) {
          const int column = strip.piece * piece + strip.word * 4 + j;
          CHECK((x[j] >> 8 * i & 0xff) == byte(row + i, column));
          read.insert({row + i, column});
        }
    }
  }
  CHECK(read.size() == memory.size());
}

TEST_CASE("threads of a warp meet in no bank of a thread block's tile") {
  for (int warp = 0; warp < 8; ++warp)
    for (int i = 0; i < kernels::fp8_piece; ++i) {
      std::set<int> banks;
      for (int lane = 0; lane < 32; ++lane) {
        const kernels::Fp8Strip s = kernels::fp8_strip(32 * warp + lane);
        banks.insert(
            (4 * kernels::fp8_tile_piece(s.group * kernels::fp8_piece + i, s.piece) + s.word) % 32);
      }
      CHECK(banks.size() == 32);
    }
}

}  // namespace fp8_kernel_test
