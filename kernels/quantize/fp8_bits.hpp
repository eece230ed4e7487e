// The 8-bit floats of training (arXiv:2209.05433) as bits, and tiles of them that are transposed.
#pragma once
#include "kernels/bits.hpp"

namespace trainx::kernels {

/// e4m3: 4 exponent bits, 3 mantissa bits, no infinity. e5m2: 5 and 2, infinities and NaNs as in
/// fp16.
enum class Fp8Format : std::uint8_t { e4m3, e5m2 };

/// The largest finite value.
TRAINX_HOST_DEVICE constexpr float largest_fp8(Fp8Format format) {
  return format == Fp8Format::e4m3 ? 448.0f : 57344.0f;
}

/// The scale of a tensor whose largest magnitude has these bits of fp32: its largest value becomes
/// the format's. At least 2^-126; NaN if the magnitude is infinite or NaN.
TRAINX_HOST_DEVICE float fp8_scale(std::uint32_t largest_bits, Fp8Format format) {
  if (largest_bits >= 0x7f800000u) return float_of(0x7fc00000u);
  const float scale = quotient(float_of(largest_bits), largest_fp8(format));
  return scale < 0x1p-126f ? 0x1p-126f : scale;
}

/// What shares one scale: the whole tensor; 128 elements of a row; 128 elements of each of 128
/// rows. The last vector of a row, and the last blocks, may be smaller.
enum class Fp8Granularity : std::uint8_t { tensor, vector, block };
constexpr int fp8_block = 128;
TRAINX_HOST_DEVICE constexpr std::int64_t fp8_blocks(std::int64_t elements) {
  return (elements + fp8_block - 1) / fp8_block;
}
/// Scales of vectors and blocks lie where cuBLASLt reads them. Vectors of x[rows, columns]:
/// [blocks of columns, rows]. Blocks: [blocks of rows, this many], zeros behind the last block.
TRAINX_HOST_DEVICE constexpr std::int64_t fp8_scales_of_block_row(std::int64_t columns) {
  return (fp8_blocks(columns) + 3) / 4 * 4;
}
/// Scales of x[rows, columns].
TRAINX_HOST_DEVICE constexpr std::int64_t fp8_scales(Fp8Granularity granularity, std::int64_t rows,
                                                     std::int64_t columns) {
  return granularity == Fp8Granularity::tensor ? 1
         : granularity == Fp8Granularity::vector
             ? fp8_blocks(columns) * rows
             : fp8_blocks(rows) * fp8_scales_of_block_row(columns);
}

/// The scale of a vector or a block whose largest magnitude has these bits of fp32: the smallest
/// power of two that leaves no value beyond the format's largest, which is 1.75 times a power of
/// two. At least 2^-126; NaN if the magnitude is infinite or NaN.
TRAINX_HOST_DEVICE float fp8_block_scale(std::uint32_t largest_bits, Fp8Format format) {
  if (largest_bits >= 0x7f800000u) return float_of(0x7fc00000u);
  const int exponent = static_cast<int>(largest_bits >> 23) - (format == Fp8Format::e4m3 ? 8 : 15) +
                       ((largest_bits & 0x7fffffu) > 0x600000u ? 1 : 0);
  return float_of(static_cast<std::uint32_t>(exponent < 1 ? 1 : exponent) << 23);
}

/// Bits of the nearest number, ties to even. Beyond the largest value: that value, with x's sign.
/// NaN keeps its sign.
template <Fp8Format format>
TRAINX_HOST_DEVICE std::uint8_t rounded_fp8(float x) {
  constexpr int mantissa = format == Fp8Format::e4m3 ? 3 : 2, dropped = 23 - mantissa,
                bias = format == Fp8Format::e4m3 ? 7 : 15;
  // fp32's exponent field of the smallest normal number, and of 2^23 times the smallest number
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - bias) << 23,
                          anchor = static_cast<std::uint32_t>(151 - bias - mantissa) << 23;
  const std::uint32_t bits = bits_of(x), sign = bits >> 24 & 0x80u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  const std::uint32_t most = bits_of(largest_fp8(format));
  if (magnitude > most) magnitude = most;
  std::uint32_t made = 0;
  if (magnitude < smallest_normal) {
    // the last bit of the sum is worth the smallest number: the addition rounds
    made = bits_of(sum(float_of(magnitude), float_of(anchor))) - anchor;
  } else {
    const std::uint32_t odd = magnitude >> dropped & 1u;
    made = ((magnitude + (1u << (dropped - 1)) - 1 + odd) >> dropped) -
           (static_cast<std::uint32_t>(127 - bias) << mantissa);
  }
  return static_cast<std::uint8_t>(sign | made);
}

/// What values are multiplied with before they are rounded.
TRAINX_HOST_DEVICE float fp8_inverse(float scale) { return quotient(1.0f, scale); }

/// x * inverse in fp8. An infinite x becomes NaN, as what a scale of NaN gives, which keeps the
/// sign of an x that is NaN.
template <Fp8Format format, class T>
TRAINX_HOST_DEVICE std::uint8_t scaled_fp8(T x, float inverse) {
  const float value = widened(x);
  if (inverse != inverse || (bits_of(value) & 0x7fffffffu) >= 0x7f800000u)
    return static_cast<std::uint8_t>(0x7fu | (value != value ? bits_of(value) >> 24 & 0x80u : 0u));
  return rounded_fp8<format>(product(value, inverse));
}

/// Magnitudes up to this one, half the smallest number, are rounded to zero.
TRAINX_HOST_DEVICE constexpr float fp8_flushed_limit(Fp8Format format) {
  return format == Fp8Format::e4m3 ? 0x1p-10f : 0x1p-17f;
}
/// Magnitudes beyond this one are cut to the largest value, which lies half a step below it.
TRAINX_HOST_DEVICE constexpr float fp8_limit(Fp8Format format) {
  return format == Fp8Format::e4m3 ? 464.0f : 61440.0f;
}

/// A tile of 128 rows of 128 bytes in shared memory. The pieces of 16 bytes of a row are exchanged
/// by the group of 16 rows that it is in: then neither writing rows nor reading columns of 4 bytes
/// makes threads of a warp meet in a bank.
constexpr int fp8_tile = 128, fp8_piece = 16, fp8_pieces = fp8_tile / fp8_piece;
TRAINX_HOST_DEVICE int fp8_tile_piece(int row, int piece) {
  return row * fp8_pieces + (piece ^ (row / fp8_piece % fp8_pieces));
}

/// The bytes `selector` names (4 bits each, of the 8 bytes low, high), as the GPU's instruction.
TRAINX_HOST_DEVICE std::uint32_t picked_bytes(std::uint32_t low, std::uint32_t high,
                                              std::uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, selector);
#else
  const std::uint64_t all = static_cast<std::uint64_t>(high) << 32 | low;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(all >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
#endif
}

/// Four rows of four bytes become four columns, in place.
TRAINX_HOST_DEVICE void transpose_bytes(std::uint32_t (&x)[4]) {
  const std::uint32_t left01 = picked_bytes(x[0], x[1], 0x5140),
                      left23 = picked_bytes(x[2], x[3], 0x5140),
                      right01 = picked_bytes(x[0], x[1], 0x7362),
                      right23 = picked_bytes(x[2], x[3], 0x7362);
  x[0] = picked_bytes(left01, left23, 0x5410);
  x[1] = picked_bytes(left01, left23, 0x7632);
  x[2] = picked_bytes(right01, right23, 0x5410);
  x[3] = picked_bytes(right01, right23, 0x7632);
}

/// Which part of a tile a thread (0 to 255) transposes: 16 rows of one word of 4 columns.
struct Fp8Strip {
  int group, piece, word;  // of 16 rows; of 16 columns; of 4 columns inside that
};
TRAINX_HOST_DEVICE Fp8Strip fp8_strip(int thread) {
  return {thread % 8, thread / 32, thread / 8 % 4};
}

}  // namespace trainx::kernels
