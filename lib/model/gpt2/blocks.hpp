#pragma once
#include "model/block.hpp"
#include "model/gpt2/shape.hpp"

namespace trainx::model::gpt2 {

/// One for each BlockSpec of spec::gpt2_graph of the same shape.
Blocks build_blocks(const Shape& shape);

}  // namespace trainx::model::gpt2
