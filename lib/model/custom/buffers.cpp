#include "model/custom/buffers.hpp"
#include "model/custom/registry.hpp"
#include "operations/module/module_device.hpp"
#include "trainx/graph.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <utility>

namespace trainx::model {

std::map<std::string, at::Tensor>& changing_buffers() {
  static std::map<std::string, at::Tensor> all;
  return all;
}

namespace {

// On a GPU, where each copy would be planned memory: by name and type.
std::map<std::pair<std::string, at::ScalarType>, at::Tensor>& constant_buffers() {
  static std::map<std::pair<std::string, at::ScalarType>, at::Tensor> all;
  return all;
}

}  // namespace

void share_buffers(GraphModule& module, const std::vector<std::string>& names) {
  const at::NoGradGuard no_gradients;
  const auto share = [](auto& all, auto key, NamedTensor& b) {
    const auto [at, is_new] = all.try_emplace(std::move(key), b.tensor);
    if (!is_new) b.tensor.set_data(at->second);
  };
  for (NamedTensor& b : module.buffers) {
    std::string name = module.name + "." + b.name;
    if (std::ranges::find(names, b.name) != names.end())
      share(changing_buffers(), std::move(name), b);
    else if (b.tensor.is_cuda())
      share(constant_buffers(), std::pair(std::move(name), b.tensor.scalar_type()), b);
  }
}

void forget_buffers() {
  changing_buffers().clear();
  constant_buffers().clear();
}

void begin_buffers(const architectures::ModelDims& dims, std::uint64_t seed) {
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  if (!custom || changing_buffers().empty()) return;
  const at::NoGradGuard no_gradients;
  const BuiltGraph graph = build_graph(*custom, seed);
  operations::between_steps_on_module_device("buffers of modules", [&] {
    for (const GraphModule& m : graph.modules)
      for (const NamedTensor& b : m.buffers)
        if (const auto at = changing_buffers().find(m.name + "." + b.name);
            at != changing_buffers().end())
          at->second.copy_(b.tensor);
  });
}

}  // namespace trainx::model
