#include "merge/base_in_file.hpp"
#include "core/error.hpp"
#include <set>

namespace trainx::merge {

std::map<std::string, std::string> base_in_file(const checkpoint::SafetensorsReader& file,
                                                const std::string& path,
                                                const plan::AdapterPlan& plan) {
  std::set<std::string> known;
  std::map<std::string, std::string> found;
  for (const auto& [name, parameter] : plan.tensors) known.insert(name);
  for (const auto& [name, parameter] : plan.readable_base) {
    if (!file.tensors().contains(name)) continue;
    known.insert(name);
    found[parameter] = name;
  }
  for (const auto& [name, entry] : file.tensors())
    if (!known.contains(name))
      throw UserError(ExitCode::bad_data,
                      path + ": tensor '" + name + "' belongs to no module that has an adapter");
  return found;
}

}  // namespace trainx::merge
