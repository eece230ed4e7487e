#include "operations/op_spec.hpp"
#include <algorithm>
#include <functional>
#include <numeric>

namespace trainx::operations {

std::int64_t TensorType::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

BackwardSpec only_wanted(BackwardSpec all, const Types& t) {
  std::erase_if(all.parameters, [&](int p) { return !t.trains(p); });
  const auto is_wanted = [&](const InputGradient& g) { return t.wants_gradient(g.input); };
  const std::vector<InputGradient> inputs = all.inputs;
  if (all.parameters.empty() && std::ranges::none_of(inputs, is_wanted)) return {};
  all.inputs.clear();
  for (InputGradient g : inputs) {
    const bool holds_another = std::ranges::any_of(inputs, [&](const InputGradient& other) {
      return other.same_as == g.input && is_wanted(other);
    });
    g.unused = !is_wanted(g) && !holds_another;
    if (!g.unused || g.comes_along) all.inputs.push_back(g);
  }
  return all;
}

}  // namespace trainx::operations
