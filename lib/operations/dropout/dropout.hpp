// Dropout by counter-based random numbers: an element's fate follows from (seed, block, site,
// position of its sample in the endless stream, its place in the sample) alone, so it is recomputed
// instead of saved and does not depend on how the batch is cut.
#pragma once
#include "tensor/random_key.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

struct Dropout {
  double probability = 0;  // 0: nothing is dropped
  tensor::RandomKey key;
  const std::int64_t* positions = nullptr;  // [B] of the samples
  std::int64_t length = 1;                  // rows of a sample
  std::int64_t first_row = 0;               // row of the micro-batch that row 0 of the operands is
  std::int64_t first_head = 0;              // of attention: of the layer's, that head 0 is
  // Of operands that are some columns of wider rows: which of those column 0 is, and how many there
  // are; 0: the operands have all.
  std::int64_t first_column = 0, all_columns = 0;
  explicit operator bool() const { return probability > 0; }
};

/// Factors (0 or 1 / (1 - probability)) of the elements [first, first + n) of row `row`, whose rows
/// have `columns` elements.
void dropout_factors(const Dropout& dropout, std::int64_t row, std::int64_t columns,
                     std::int64_t first, std::int64_t n, float* factors);

/// Factors of attention's probabilities for keys [first, first + n) of a sample, as one query of a
/// head sees them. They do not depend on how long rows are padded.
void attention_dropout_factors(const Dropout& dropout, std::int64_t sample, std::int64_t head,
                               std::int64_t query, std::int64_t first, std::int64_t n,
                               float* factors);

/// out[N, C] = x[N, C] * factors; `out` may be `x`. Without a probability (in evaluation) `out` is
/// a copy of `x`. Given a gradient of y, `out` is the gradient of x.
void drop_out(const Tensor& out, const Tensor& x, const Dropout& dropout);

}  // namespace trainx::operations
