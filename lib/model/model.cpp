#include "model/model.hpp"
#include "core/error.hpp"
#include "model/bert/attention.hpp"
#include "model/bert/classifier.hpp"
#include "model/bert/embedding.hpp"
#include "model/bert/masked_lm.hpp"
#include "model/bert/mlp.hpp"
#include "model/custom/module_block.hpp"
#include "model/gpt2/blocks.hpp"
#include "spec/arch/gpt2_slots.hpp"

namespace trainx::model {
namespace {

Blocks blocks_of(const spec::Gpt2Dims& dims, const program::ModelGraph& graph) {
  const std::vector<std::int64_t>& tokens = graph.batch.at(spec::Gpt2Batch::tokens).dims;
  return gpt2::build_blocks({dims, tokens.at(0), tokens.at(1)});
}

Blocks blocks_of(const spec::BertDims& dims, const program::ModelGraph& graph) {
  const std::vector<std::int64_t>& tokens = graph.batch.at(spec::bert::Batch::tokens).dims;
  const bert::Shape shape{dims, tokens.at(0), tokens.at(1)};
  Blocks blocks;
  blocks.push_back(std::make_unique<bert::Embedding>(shape));
  for (std::int64_t layer = 0; layer < dims.num_layers; ++layer) {
    blocks.push_back(std::make_unique<bert::Attention>(shape));
    blocks.push_back(std::make_unique<bert::Mlp>(shape));
  }
  if (dims.task == spec::Task::classification)
    blocks.push_back(std::make_unique<bert::Classifier>(shape));
  else
    blocks.push_back(std::make_unique<bert::MaskedLm>(shape));
  return blocks;
}

Blocks blocks_of(const spec::CustomDims& dims, const program::ModelGraph& graph) {
  return custom::build_module_blocks(dims, graph);
}

}  // namespace

Blocks build_blocks(const spec::ModelDims& dims, const program::ModelGraph& graph) {
  // one blocks_of per architecture
  Blocks blocks = std::visit([&](const auto& d) { return blocks_of(d, graph); }, dims);
  if (blocks.size() != graph.blocks.size())
    throw InternalError("build_blocks: the graph is of other dimensions");
  return blocks;
}

}  // namespace trainx::model
