#pragma once
#include "model/block_context.hpp"
#include "operations/dropout/dropout.hpp"
#include "spec/arch/gpt2.hpp"
#include <cstdint>

namespace trainx::model::gpt2 {

/// What all of GPT-2's blocks know besides their operands.
struct Shape {
  spec::Gpt2Dims dims;
  std::int64_t batch = 0, length = 0;  // samples of a micro-batch, tokens of a sample
  // of a decoder: how many tokens of its one sample came before these, whose keys and values qkv
  // holds; null: none ever
  const std::int64_t* cached = nullptr;
  std::int64_t past() const { return cached ? *cached : 0; }
  std::int64_t rows() const { return batch * length; }
  std::int64_t head_size() const { return dims.hidden_size / dims.num_heads; }
};

/// The block's one dropout site; none in evaluation. `first_row`: the row of the micro-batch where
/// the operands begin.
operations::Dropout dropout(const Shape& shape, const BlockContext& c, program::Slot positions,
                            std::int64_t first_row = 0);

}  // namespace trainx::model::gpt2
