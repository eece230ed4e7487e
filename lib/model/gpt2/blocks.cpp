#include "model/gpt2/blocks.hpp"
#include "model/gpt2/attention.hpp"
#include "model/gpt2/embedding.hpp"
#include "model/gpt2/head.hpp"
#include "model/gpt2/mlp.hpp"

namespace trainx::model::gpt2 {

Blocks build_blocks(const Shape& shape) {
  Blocks blocks;
  blocks.push_back(std::make_unique<Embedding>(shape));
  for (std::int64_t layer = 0; layer < shape.dims.num_layers; ++layer) {
    blocks.push_back(std::make_unique<Attention>(shape, layer == 0));
    blocks.push_back(std::make_unique<Mlp>(shape));
  }
  blocks.push_back(std::make_unique<Head>(shape));
  return blocks;
}

}  // namespace trainx::model::gpt2
