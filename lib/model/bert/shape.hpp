#pragma once
#include "model/dropout_site.hpp"
#include "spec/arch/bert.hpp"
#include <cstdint>

namespace trainx::model::bert {

/// What all of BERT's blocks know besides their operands.
struct Shape {
  spec::BertDims dims;
  std::int64_t batch = 0, length = 0;  // samples of a micro-batch, tokens of a sample
  std::int64_t rows() const { return batch * length; }
  std::int64_t head_size() const { return dims.hidden_size / dims.num_heads; }
  /// Dropout of the branch that a block adds, or of the embeddings.
  operations::Dropout dropout(const BlockContext& c, program::Slot positions) const {
    return dropout_site(c, dims.dropout, positions, length);
  }
};

}  // namespace trainx::model::bert
