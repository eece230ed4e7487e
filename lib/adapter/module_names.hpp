#pragma once
#include "adapter/module.hpp"
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::adapter {

/// A name among PEFT's named_modules: a module, or one that only contains others.
struct NamedModule {
  std::string name;
  std::optional<std::size_t> index;  // into the modules
};

/// The names of all modules, containers in front of what they contain. Expert tensors are
/// parameters: their modules are containers.
std::vector<NamedModule> named_modules(std::span<const Module> modules);

/// The name of the parameter that target_parameters reaches: "X.mlp.gate.weight", or the expert
/// tensor's own.
std::string parameter_name(const Module& module);

/// What stands behind the last dot.
std::string_view leaf_of(std::string_view name);

/// `name` is `suffix`, or ends with it behind a dot.
bool ends_at_dot(std::string_view name, std::string_view suffix);

/// `name` is `container`, or lies inside it.
bool lies_in(std::string_view name, std::string_view container);

}  // namespace trainx::adapter
