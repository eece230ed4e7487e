#pragma once
#include "model/block_context.hpp"
#include "operations/dropout/dropout.hpp"
#include <cstdint>

namespace trainx::model {

/// Dropout at a site of the block on operands of `length` rows a sample; none in evaluation.
/// `first_row`: the row of the micro-batch where the operands begin.
inline operations::Dropout dropout_site(const BlockContext& c, double probability,
                                        program::Slot positions, std::int64_t length,
                                        std::int64_t first_row = 0, int site = 0) {
  if (!(probability > 0) || !c.training()) return {};
  return {probability, c.random_key(site), c[positions].as<const std::int64_t>(), length,
          first_row};
}

}  // namespace trainx::model
