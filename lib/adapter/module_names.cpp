#include "adapter/module_names.hpp"
#include <unordered_map>

namespace trainx::adapter {

std::vector<NamedModule> named_modules(std::span<const Module> modules) {
  std::vector<NamedModule> names;
  std::unordered_map<std::string_view, std::size_t> place;  // in names; views of the modules' names
  const auto add = [&](std::string_view name) {
    const auto [found, is_new] = place.try_emplace(name, names.size());
    if (is_new) names.push_back({std::string(name), std::nullopt});
    return found->second;
  };
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string_view name = modules[i].name;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
         dot = name.find('.', dot + 1))
      add(name.substr(0, dot));
    if (modules[i].kind != ModuleKind::expert_tensor) names[add(name)].index = i;
  }
  return names;
}

std::string parameter_name(const Module& module) {
  return module.kind == ModuleKind::expert_tensor ? module.name : module.name + ".weight";
}

std::string_view leaf_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool ends_at_dot(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  return name.size() == suffix.size() || name[name.size() - suffix.size() - 1] == '.';
}

bool lies_in(std::string_view name, std::string_view container) {
  if (!name.starts_with(container)) return false;
  return name.size() == container.size() || name[container.size()] == '.';
}

}  // namespace trainx::adapter
