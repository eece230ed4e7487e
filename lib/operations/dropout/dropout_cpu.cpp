#include "operations/dropout/dropout.hpp"
#include "kernels/attention/attention_dropout.hpp"
#include "operations/common/element.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include "operations/dropout/dropout_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

namespace {

constexpr int lanes = 16;  // Philox blocks computed side by side

/// Of blocks of random words: what they have in common.
struct RandomStream {
  std::uint64_t key, position;
  std::uint32_t where;
};

/// Word w of blocks [first_block, first_block + lanes): kernels::philox with counter (block of the
/// sample's elements, block and site of the model, sample's position), written out for `lanes`
/// counters at once.
using RandomWords = std::uint32_t[4][lanes];
TRAINX_INLINE void words_of_blocks(std::uint32_t first_block, const RandomStream& from, int rounds,
                                   RandomWords& words) {
  auto& [c0, c1, c2, c3] = words;
  for (int j = 0; j < lanes; ++j) {
    c0[j] = first_block + j;
    c1[j] = from.where;
    c2[j] = static_cast<std::uint32_t>(from.position);
    c3[j] = static_cast<std::uint32_t>(from.position >> 32);
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(from.key),
                k1 = static_cast<std::uint32_t>(from.key >> 32);
  for (int round = 0; round < rounds; ++round) {
#pragma omp simd
    for (int j = 0; j < lanes; ++j) {
      const std::uint64_t x = std::uint64_t{0xD2511F53} * c0[j],
                          y = std::uint64_t{0xCD9E8D57} * c2[j];
      c0[j] = static_cast<std::uint32_t>(y >> 32) ^ c1[j] ^ k0;
      c1[j] = static_cast<std::uint32_t>(y);
      c2[j] = static_cast<std::uint32_t>(x >> 32) ^ c3[j] ^ k1;
      c3[j] = static_cast<std::uint32_t>(x);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

/// An element has 32 bits of a word.
struct WholeWords {
  static constexpr int elements = 4, rounds = 10;  // of a block
  std::uint32_t threshold;
  float scale;
};
TRAINX_CLONES void factors_of_blocks(std::uint32_t first_block, const RandomStream& from,
                                     const WholeWords& rule, float* factors) {
  RandomWords words;
  words_of_blocks(first_block, from, WholeWords::rounds, words);
#pragma omp simd
  for (int j = 0; j < lanes; ++j)
    for (int w = 0; w < 4; ++w)
      factors[4 * j + w] = words[w][j] >= rule.threshold ? rule.scale : 0.0f;
}

/// An element has 16 bits (kernels/attention/attention_dropout.hpp).
struct HalfWords {
  static constexpr int elements = 8, rounds = 7;
  std::uint32_t threshold;
  float scale;
};
TRAINX_CLONES void factors_of_blocks(std::uint32_t first_block, const RandomStream& from,
                                     const HalfWords& rule, float* factors) {
  RandomWords words;
  words_of_blocks(first_block, from, HalfWords::rounds, words);
#pragma omp simd
  for (int j = 0; j < lanes; ++j)
    for (int w = 0; w < 4; ++w) {
      factors[8 * j + 2 * w] = (words[w][j] & 0xffff) >= rule.threshold ? rule.scale : 0.0f;
      factors[8 * j + 2 * w + 1] = words[w][j] >> 16 >= rule.threshold ? rule.scale : 0.0f;
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

/// Factors of elements [begin, begin + n) of a sample.
template <class Rule>
void factors_of(const RandomStream& from, const Rule& rule, std::int64_t begin, std::int64_t n,
                float* factors) {
  constexpr int of_block = Rule::elements, of_piece = of_block * lanes;
  float piece[of_piece];
  for (std::int64_t element = begin; element < begin + n;) {
    const std::int64_t block = element / of_block, skipped = element - of_block * block;
    const std::int64_t take = std::min(begin + n - element, of_piece - skipped);
    float* out = factors + (element - begin);
    const bool whole = skipped == 0 && take == of_piece;
    factors_of_blocks(static_cast<std::uint32_t>(block), from, rule, whole ? out : piece);
    if (!whole) std::copy_n(piece + skipped, take, out);
    element += take;
  }
}

}  // namespace

void dropout_factors(const Dropout& d, std::int64_t row, std::int64_t columns, std::int64_t first,
                     std::int64_t n, float* factors) {
  const std::int64_t absolute = d.first_row + row;
  const auto position = static_cast<std::uint64_t>(d.positions[absolute / d.length]);
  const WholeWords rule{static_cast<std::uint32_t>(std::ldexp(d.probability, 32)),
                        static_cast<float>(1 / (1 - d.probability))};
  factors_of(RandomStream{d.key.seed, position, d.key.block << 8 | d.key.site}, rule,
             (absolute % d.length) * columns + first, n, factors);
}

void attention_dropout_factors(const Dropout& d, std::int64_t sample, std::int64_t head,
                               std::int64_t query, std::int64_t first, std::int64_t n,
                               float* factors) {
  const kernels::AttentionDropout dropout =
      kernels::attention_dropout({.key = {d.probability, d.key.seed, d.key.block, d.key.site},
                                  .positions = d.positions,
                                  .first_head = d.first_head});
  const kernels::DroppedQuery of_query =
      kernels::dropped_query(dropout, d.positions[sample], head, query);
  factors_of(RandomStream{of_query.key, of_query.position, dropout.where},
             HalfWords{dropout.threshold, dropout.scale}, first, n, factors);
}

void cpu::drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout) {
  const TimedWork timed(Work::dropout);
  const std::int64_t rows = x.size(0), columns = x.size(1);
  if (!dropout) {
    const std::int64_t row_bytes = columns * size_of(x.dtype);
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(result.as<std::byte>() + begin * row_bytes, x.as<std::byte>() + begin * row_bytes,
                  static_cast<std::size_t>((end - begin) * row_bytes));
    });
    return;
  }
  const std::int64_t all = dropout.all_columns > 0 ? dropout.all_columns : columns;
  with_element(x, [&]<class T>(T) {
    T* out = data<T>(result);
    const T* in = data<T>(x);
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 512;
      float factors[piece];
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c);
          dropout_factors(dropout, r, all, dropout.first_column + c, n, factors);
          multiply_row(out + r * columns + c, in + r * columns + c, factors, n);
        }
    });
  });
}

}  // namespace trainx::operations
