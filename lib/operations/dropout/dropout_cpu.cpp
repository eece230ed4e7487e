#include "operations/dropout/dropout.hpp"
#include "operations/common/element.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include "operations/dropout/dropout_backends.hpp"
#include "operations/common/timed_work.hpp"

namespace trainx::operations {

namespace {

constexpr int lanes = 16;  // Philox blocks computed side by side

/// Factors from the words of blocks [first_block, first_block + lanes) of a sample: tensor::philox
/// with counter (block of the sample's elements, block and site of the model, sample's position),
/// written out for `lanes` counters at once.
TRAINX_CLONES void factors_of_blocks(std::uint32_t first_block, std::uint32_t where,
                                     std::uint64_t position, std::uint64_t seed,
                                     std::uint32_t threshold, float scale, float* factors) {
  std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  for (int j = 0; j < lanes; ++j) {
    c0[j] = first_block + j;
    c1[j] = where;
    c2[j] = static_cast<std::uint32_t>(position);
    c3[j] = static_cast<std::uint32_t>(position >> 32);
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int j = 0; j < lanes; ++j) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c0[j],
                          b = std::uint64_t{0xCD9E8D57} * c2[j];
      c0[j] = static_cast<std::uint32_t>(b >> 32) ^ c1[j] ^ k0;
      c1[j] = static_cast<std::uint32_t>(b);
      c2[j] = static_cast<std::uint32_t>(a >> 32) ^ c3[j] ^ k1;
      c3[j] = static_cast<std::uint32_t>(a);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
#pragma omp simd
  for (int j = 0; j < lanes; ++j) {
    factors[4 * j] = c0[j] >= threshold ? scale : 0.0f;
    factors[4 * j + 1] = c1[j] >= threshold ? scale : 0.0f;
    factors[4 * j + 2] = c2[j] >= threshold ? scale : 0.0f;
    factors[4 * j + 3] = c3[j] >= threshold ? scale : 0.0f;
  }
}

template <class T>
TRAINX_INLINE void multiply(T* out, const T* in, const float* factors, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(out[i], load(in[i]) * factors[i]);
}
TRAINX_CLONES void multiply_row(float* out, const float* in, const float* factors, std::int64_t n) {
  multiply(out, in, factors, n);
}
TRAINX_CLONES void multiply_row(Bf16* out, const Bf16* in, const float* factors, std::int64_t n) {
  multiply(out, in, factors, n);
}
TRAINX_CLONES void multiply_row(Fp16* out, const Fp16* in, const float* factors, std::int64_t n) {
  multiply(out, in, factors, n);
}

std::uint32_t place_of(const Dropout& d) { return d.key.block << 8 | d.key.site; }

/// Factors of elements [begin, begin + n) of the numbers that `seed` names.
void factors_of(const Dropout& d, std::uint64_t seed, std::int64_t sample, std::int64_t begin,
                std::int64_t n, float* factors) {
  const auto threshold = static_cast<std::uint32_t>(std::ldexp(d.probability, 32));
  const auto scale = static_cast<float>(1 / (1 - d.probability));
  const auto position = static_cast<std::uint64_t>(d.positions[sample]);
  float piece[4 * lanes];
  for (std::int64_t element = begin; element < begin + n;) {
    const std::int64_t block = element / 4, skipped = element - 4 * block;
    const std::int64_t take = std::min(begin + n - element, 4 * lanes - skipped);
    float* out = factors + (element - begin);
    const bool whole = skipped == 0 && take == 4 * lanes;
    factors_of_blocks(static_cast<std::uint32_t>(block), place_of(d), position, seed, threshold,
                      scale, whole ? out : piece);
    if (!whole) std::copy_n(piece + skipped, take, out);
    element += take;
  }
}

}  // namespace

void dropout_factors(const Dropout& d, std::int64_t row, std::int64_t columns, std::int64_t first,
                     std::int64_t n, float* factors) {
  const std::int64_t absolute = d.first_row + row;
  factors_of(d, d.key.seed, absolute / d.length, (absolute % d.length) * columns + first, n,
             factors);
}

// A key of its own for each query and head: their number is not bounded, that of a sample's
// elements is. The last word of the counter is no position's.
void attention_dropout_factors(const Dropout& d, std::int64_t sample, std::int64_t head,
                               std::int64_t query, std::int64_t first, std::int64_t n,
                               float* factors) {
  constexpr std::uint32_t of_rows = 0x80000000;
  const auto words = tensor::philox(
      {static_cast<std::uint32_t>(query), place_of(d), static_cast<std::uint32_t>(head), of_rows},
      {static_cast<std::uint32_t>(d.key.seed), static_cast<std::uint32_t>(d.key.seed >> 32)});
  factors_of(d, std::uint64_t{words[1]} << 32 | words[0], sample, first, n, factors);
}

void cpu::drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout) {
  const TimedWork timed(Work::dropout);
  const std::int64_t rows = x.size(0), columns = x.size(1);
  with_element(x, [&]<class T>(T) {
    T* out = data<T>(result);
    const T* in = data<T>(x);
    at::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 512;
      float factors[piece];
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c);
          dropout_factors(dropout, r, columns, c, n, factors);
          multiply_row(out + r * columns + c, in + r * columns + c, factors, n);
        }
    });
  });
}

}  // namespace trainx::operations
