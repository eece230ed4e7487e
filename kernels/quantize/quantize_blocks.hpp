// Casts to e4m3 with a scale for each 128 elements or each 128 x 128 (arXiv:2412.19437).
#pragma once
#include "kernels/quantize/quantize.hpp"

namespace trainx::kernels {

/// values = e4m3(source / scale), rounded to nearest, ties to even; scales by fp8_block_scale. A
/// NaN or an infinity makes its scale, and the values that share it, NaN.
///
/// vector: values have a scale for 128 elements of a row. `transposed` is a cast of its own, with a
/// scale for 128 elements of a column. block: a scale for 128 x 128, and `transposed` has the same
/// values.
template <class T>
struct BlockQuantization {
  Fp8Granularity granularity = Fp8Granularity::vector;  // not tensor
  std::int64_t rows = 0, columns = 0;
  // [rows, columns]; of gates [rows, 2 columns], of their gradient [rows, columns / 2]
  const T* x = nullptr;
  std::uint8_t* values = nullptr;      // [rows, columns]; null: not wanted
  float* scales = nullptr;             // of values
  std::uint8_t* transposed = nullptr;  // [columns, rows]; null: not wanted
  float* transposed_scales = nullptr;  // of transposed
  Fp8Source source = Fp8Source::plain;
  const T* pre = nullptr;        // [rows, columns], of a gradient
  float* column_sums = nullptr;  // [columns] = or += those of what is cast; null: not wanted
  bool accumulate = false;       // they are added to
  double* counts = nullptr;      // [fp8_counts], added to: of values, made or not; null: not wanted
};

/// What became of a tile's elements.
struct Fp8TileCounts {
  std::int64_t flushed = 0, not_finite = 0;
};

/// On a host: the tile of 128 x 128 in that row and column of tiles, without source, sums and
/// counts.
template <class T>
Fp8TileCounts quantize_tile(const BlockQuantization<T>& op, std::int64_t down,
                            std::int64_t across) {
  const auto end = [](std::int64_t begin, std::int64_t all) {
    return all - begin < fp8_block ? all : begin + fp8_block;
  };
  const std::int64_t first_row = down * fp8_block, last_row = end(first_row, op.rows),
                     first_column = across * fp8_block, last_column = end(first_column, op.columns);
  const auto magnitude = [&](std::int64_t r, std::int64_t c) {
    return bits_of(widened(op.x[r * op.columns + c])) & 0x7fffffffu;
  };
  const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
  Fp8TileCounts counts;
  const auto cast = [&](std::int64_t r, std::int64_t c, float inverse) {
    return scaled_fp8<Fp8Format::e4m3>(op.x[r * op.columns + c], inverse);
  };
  const auto cast_row = [&](std::int64_t r, float inverse) {
    for (std::int64_t c = first_column; c < last_column; ++c) {
      const std::uint8_t made = cast(r, c, inverse);
      if (op.values) op.values[r * op.columns + c] = made;
      const std::uint32_t bits = magnitude(r, c);
      counts.flushed += bits != 0 && (made & 0x7f) == 0;
      counts.not_finite += bits >= 0x7f800000u;
    }
  };
  const auto cast_column = [&](std::int64_t c, float inverse) {
    for (std::int64_t r = first_row; r < last_row; ++r)
      op.transposed[c * op.rows + r] = cast(r, c, inverse);
  };
  if (op.granularity == Fp8Granularity::block) {
    std::uint32_t most = 0;
    for (std::int64_t r = first_row; r < last_row; ++r)
      for (std::int64_t c = first_column; c < last_column; ++c)
        most = larger(most, magnitude(r, c));
    const float scale = fp8_block_scale(most, Fp8Format::e4m3), inverse = fp8_inverse(scale);
    const auto put = [scale](float* scales, std::int64_t row, std::int64_t column,
                             std::int64_t columns) {
      const std::int64_t all = fp8_scales_of_block_row(columns);
      scales[row * all + column] = scale;
      for (std::int64_t c = column + 1; column + 1 == fp8_blocks(columns) && c < all; ++c)
        scales[row * all + c] = 0;
    };
    if (op.values) put(op.scales, down, across, op.columns);
    if (op.transposed) put(op.transposed_scales, across, down, op.rows);
    for (std::int64_t r = first_row; r < last_row; ++r) cast_row(r, inverse);
    for (std::int64_t c = first_column; op.transposed && c < last_column; ++c)
      cast_column(c, inverse);
    return counts;
  }
  for (std::int64_t r = first_row; r < last_row; ++r) {
    std::uint32_t most = 0;
    for (std::int64_t c = first_column; c < last_column; ++c) most = larger(most, magnitude(r, c));
    const float scale = fp8_block_scale(most, Fp8Format::e4m3);
    if (op.values) op.scales[across * op.rows + r] = scale;
    cast_row(r, fp8_inverse(scale));
  }
  for (std::int64_t c = first_column; op.transposed && c < last_column; ++c) {
    std::uint32_t most = 0;
    for (std::int64_t r = first_row; r < last_row; ++r) most = larger(most, magnitude(r, c));
    const float scale = fp8_block_scale(most, Fp8Format::e4m3);
    op.transposed_scales[down * op.columns + c] = scale;
    cast_column(c, fp8_inverse(scale));
  }
  return counts;
}

/// Same bits on host and device, whatever the order, except for column sums, which are folded in a
/// fixed order on one GPU, and for what an activation rounds differently. Pointers need their
/// element's alignment; sources other than plain need 16 bytes, with columns a multiple of 16.
void quantize_blocks_reference(const BlockQuantization<float>& op);
void quantize_blocks_reference(const BlockQuantization<Bf16>& op);
void quantize_blocks_reference(const BlockQuantization<Fp16>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch: quantize_blocks_kernel, none if x is
/// empty. FoldMemory::partial as of quantize.
cudaError_t quantize_blocks(const BlockQuantization<Bf16>& op, const FoldMemory& memory,
                            cudaStream_t stream);
#endif

}  // namespace trainx::kernels
