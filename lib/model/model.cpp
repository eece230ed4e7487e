#include "model/model.hpp"
#include "core/error.hpp"
#include "model/custom/buffers.hpp"
#include "model/custom/registry.hpp"
#include "operations/module/module_state.hpp"

namespace trainx::model {

Blocks build_blocks(const architectures::ModelDims& dims, const program::ModelGraph& graph) {
  std::vector<std::shared_ptr<operations::ModuleState>> modules;
  if (const auto* custom = std::get_if<architectures::CustomDims>(&dims)) {
    if (custom->shapes.empty()) throw InternalError("the model was not described");
    BuiltGraph built = build_graph(*custom, 0);
    for (std::size_t k = 0; k < built.modules.size(); ++k) {
      const architectures::CustomModule& described = custom->shapes.front().modules.at(k);
      modules.push_back(std::make_shared<operations::ModuleState>(
          std::move(built.modules[k]), graph.compute, described.draws || !custom->on_gpu()));
      share_buffers(modules.back()->module, described.changing);
    }
  }
  return composed_blocks(graph, std::move(modules));
}

}  // namespace trainx::model
