#include "model/model.hpp"
#include "model/custom/registry.hpp"

namespace trainx::model {

Blocks build_blocks(const architectures::ModelDims& dims, const program::ModelGraph& graph) {
  std::vector<std::unique_ptr<operations::ModuleState>> modules;
  if (const auto* custom = std::get_if<architectures::CustomDims>(&dims))
    for (Module& m : build_modules(*custom, 0))
      modules.push_back(std::make_unique<operations::ModuleState>(std::move(m), graph.compute));
  return composed_blocks(graph, std::move(modules));
}

}  // namespace trainx::model
