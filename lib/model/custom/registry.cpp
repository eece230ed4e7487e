#include "model/custom/registry.hpp"
#include "core/error.hpp"
#include "operations/module/module_state.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace trainx {
namespace {

std::vector<ModelDefinition>& definitions() {
  static std::vector<ModelDefinition> all;
  return all;
}

[[noreturn]] void refuse(const architectures::CustomDims& dims, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model " + dims.options.name + ": " + sentence);
}

void check_module(const architectures::CustomDims& dims, const Module& m) {
  const std::string who = "module '" + m.name + "'";
  const bool named = !m.name.empty() && std::ranges::all_of(m.name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  if (!named) refuse(dims, who + " needs a name of letters, digits, '_' and '-'");
  if (!m.forward || !m.set_training) refuse(dims, who + " has no forward or no set_training");
  for (const Module::NamedTensor& p : m.parameters) {
    if (!p.tensor.requires_grad())
      refuse(dims, who + ": parameter '" + p.name +
                       "' wants no gradient; make it a buffer, trainx trains every parameter");
    if (p.tensor.scalar_type() != at::kFloat)
      refuse(dims, who + ": parameter '" + p.name + "' is " +
                       c10::toString(p.tensor.scalar_type()) +
                       "; build modules in float, precision.compute makes them others");
  }
}

}  // namespace

void add_model_definition(ModelDefinition definition) {
  definitions().push_back(std::move(definition));
}

namespace model {

const std::vector<ModelDefinition>& model_definitions() { return definitions(); }

const ModelDefinition& model_definition(const std::string& name) {
  for (const ModelDefinition& d : definitions())
    if (d.name == name) return d;
  throw InternalError("this worker has no model " + name);
}

std::vector<architectures::CustomOptions> model_descriptions() {
  std::vector<architectures::CustomOptions> out;
  for (const ModelDefinition& d : definitions()) out.push_back({d.name, d.summary, d.options});
  return out;
}

std::vector<Module> build_modules(const architectures::CustomDims& dims, std::uint64_t seed) {
  const ModelDefinition& definition = model_definition(dims.options.name);
  operations::seed_generator(seed);
  std::vector<Module> modules;
  try {
    modules = definition.build(dims.options.fields,
                               {dims.max_positions, dims.vocab_size, dims.num_labels});
  } catch (const c10::Error& e) {
    refuse(dims, std::string("cannot be built: ") + e.what_without_backtrace());
  } catch (const std::exception& e) { refuse(dims, std::string("cannot be built: ") + e.what()); }
  if (modules.empty()) refuse(dims, "its chain has no module");
  std::set<std::string> names;
  std::map<const void*, std::string> owners;
  for (const Module& m : modules) {
    check_module(dims, m);
    if (!names.insert(m.name).second) refuse(dims, "two modules are called '" + m.name + "'");
    for (const Module::NamedTensor& p : m.parameters)
      if (const auto [at, is_new] = owners.try_emplace(p.tensor.unsafeGetTensorImpl(), m.name);
          !is_new)
        refuse(dims, "module '" + m.name + "': parameter '" + p.name + "' is shared with module '" +
                         at->second + "'; shared parameters belong into one module");
  }
  return modules;
}

}  // namespace model
}  // namespace trainx
