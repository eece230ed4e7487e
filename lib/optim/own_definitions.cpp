#include "optim/own_definitions.hpp"
#include "core/error.hpp"
#include "options/registry.hpp"

namespace trainx {

using options::registry;

void add_optimizer_definition(OptimizerDefinition definition) {
  registry<OptimizerDefinition>().push_back(std::move(definition));
}

namespace optim {

const OptimizerDefinition& optimizer_definition(const std::string& name) {
  for (const OptimizerDefinition& d : registry<OptimizerDefinition>())
    if (d.name == name) return d;
  throw InternalError("this worker has no optimizer " + name);
}

std::vector<options::OwnOptimizerOptions> optimizer_descriptions() {
  std::vector<options::OwnOptimizerOptions> all;
  for (const OptimizerDefinition& d : registry<OptimizerDefinition>()) {
    auto& o = all.emplace_back(
        options::OwnOptimizerOptions{d.name, d.summary, d.options, {}, d.on_tensors});
    for (const OptimizerState& s : d.states) o.kept.push_back({s.name, DType::f32, s.initial});
  }
  return all;
}

}  // namespace optim
}  // namespace trainx
