#include "model/model.hpp"
#include "core/error.hpp"
#include "model/composed_block.hpp"
#include "model/custom/module_block.hpp"

namespace trainx::model {

Blocks build_blocks(const architectures::ModelDims& dims, const program::ModelGraph& graph) {
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  Blocks blocks = custom ? custom::build_module_blocks(*custom, graph) : composed_blocks(graph);
  if (blocks.size() != graph.blocks.size())
    throw InternalError("build_blocks: the graph is of other dimensions");
  return blocks;
}

}  // namespace trainx::model
