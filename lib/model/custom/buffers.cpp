#include "model/custom/buffers.hpp"
#include "model/custom/registry.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>

namespace trainx::model {

std::map<std::string, at::Tensor>& changing_buffers() {
  static std::map<std::string, at::Tensor> all;
  return all;
}

void share_buffers(GraphModule& module, const std::vector<std::string>& names) {
  const at::NoGradGuard no_gradients;
  for (NamedTensor& b : module.buffers) {
    if (std::ranges::find(names, b.name) == names.end()) continue;
    const auto [at, is_new] = changing_buffers().try_emplace(module.name + "." + b.name, b.tensor);
    if (!is_new) b.tensor.set_data(at->second);
  }
}

void begin_buffers(const architectures::ModelDims& dims, std::uint64_t seed) {
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  if (!custom || changing_buffers().empty()) return;
  const at::NoGradGuard no_gradients;
  const BuiltGraph graph = build_graph(*custom, seed);
  for (const GraphModule& m : graph.modules)
    for (const NamedTensor& b : m.buffers)
      if (const auto at = changing_buffers().find(m.name + "." + b.name);
          at != changing_buffers().end())
        at->second.copy_(b.tensor);
}

}  // namespace trainx::model
