#include "core/error.hpp"
#include "model/custom/registry.hpp"
#include "model/model.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <map>

namespace trainx::model {

WeightInitializer weight_initializer(const architectures::ModelDims& dims, std::uint64_t seed) {
  const auto* custom = std::get_if<architectures::CustomDims>(&dims);
  if (!custom) return drawn_weights(seed);
  const auto constructed = std::make_shared<std::map<std::string, at::Tensor>>();
  const BuiltGraph graph = build_graph(*custom, seed);
  for (std::size_t m = 0; m < graph.modules.size(); ++m)
    for (std::size_t p = 0; p < graph.saved_names[m].size(); ++p)
      constructed->emplace(graph.saved_names[m][p], graph.modules[m].parameters[p].tensor.detach());
  return {[constructed](const program::GroupSpec& group, float* exact) {
    std::fill_n(exact, group.elements, 0.0f);
    const at::NoGradGuard no_gradients;
    for (const program::ParameterSpec& p : group.parameters) {
      const auto found = constructed->find(p.name);
      if (found == constructed->end() || found->second.sizes() != at::IntArrayRef(p.saved_dims))
        throw InternalError("the model was described with another parameter '" + p.name + "'");
      const at::Tensor dense = found->second.contiguous();
      std::copy_n(dense.const_data_ptr<float>(), p.elements(), exact + p.offset);
    }
  }};
}

}  // namespace trainx::model
