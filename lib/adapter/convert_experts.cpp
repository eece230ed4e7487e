#include "adapter/convert_experts.hpp"
#include "adapter/matcher.hpp"
#include "adapter/model_types.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <array>
#include <set>

namespace trainx::adapter {
namespace {

constexpr std::string_view fused_name = "gate_up_proj";

/// Old name and what it became, in PEFT's order.
using Renamed = std::array<std::pair<std::string, std::string>, 4>;

Renamed renamed_by(const ExpertNames& old) {
  return {{{"gate", "gate.weight"},
           {std::string(old.gate), std::string(fused_name)},
           {std::string(old.up), std::string(fused_name)},
           {std::string(old.down), "down_proj"}}};
}

/// The leaf names that an expression means, also of experts that stand in it by their old names.
std::set<std::string> leaves_matched(const Config& config, std::span<const Module> modules,
                                     const std::vector<NamedModule>& names,
                                     const Renamed& renamed) {
  const Matcher matcher(config);
  const auto is_meant = [&](const std::string& name) {
    return matcher.match(name) == Matcher::Match::target;
  };
  std::set<std::string> leaves;
  for (const NamedModule& named : names)
    if (is_meant(named.name)) leaves.emplace(leaf_of(named.name));
  for (const Module& module : modules)
    if (const std::string name = parameter_name(module); is_meant(name))
      leaves.emplace(leaf_of(name));
  for (const auto& [old_name, new_name] : renamed)
    for (const Module& module : modules) {
      const std::string parameter = parameter_name(module);
      if (leaf_of(parameter) != new_name) continue;
      const std::string container = parameter.substr(0, parameter.rfind('.'));
      if (!leaves.contains(old_name) && is_meant(container + "." + old_name))
        leaves.insert(old_name);
    }
  return leaves;
}

template <class T>
void set_pattern(std::vector<std::pair<std::string, T>>& patterns, const std::string& key,
                 T value) {
  const auto found = std::ranges::find(patterns, key, &std::pair<std::string, T>::first);
  if (found != patterns.end()) {
    found->second = value;
  } else {
    patterns.emplace_back(key, value);
  }
}

}  // namespace

std::vector<std::string> all_linear_names(std::span<const Module> modules, const Config& config) {
  std::vector<std::string> names;
  for (const Module& module : modules) {
    // Of a head of several layers, PEFT leaves out none by all-linear itself: modules_to_save does.
    const bool stays = config.task_type == "SEQ_CLS" && module.name != "score" &&
                       module.name != "classifier";
    if (module.kind == ModuleKind::linear && (!module.output_head || stays))
      names.push_back(module.name);
  }
  return names;
}

std::map<std::string, std::string> convert_expert_names(Config& config,
                                                        std::span<const Module> modules,
                                                        const std::vector<NamedModule>& names,
                                                        std::string_view model_type) {
  const auto old = old_expert_names(model_type);
  if (!old) return {};
  const Renamed renamed = renamed_by(*old);
  std::vector<std::string> targets = config.targets.suffixes;
  if (config.targets.kind == Targets::Kind::all_linear) {
    std::set<std::string> leaves;
    for (const std::string& name : all_linear_names(modules, config)) leaves.emplace(leaf_of(name));
    for (const auto& [old_name, new_name] : renamed) leaves.insert(old_name);
    targets.assign(leaves.begin(), leaves.end());
  } else if (config.targets.kind == Targets::Kind::expression) {
    const auto leaves = leaves_matched(config, modules, names, renamed);
    if (leaves.empty()) return {};
    targets.assign(leaves.begin(), leaves.end());
  } else if (config.targets.kind == Targets::Kind::of_model_type && !config.target_parameters) {
    return {};
  }

  std::map<std::string, std::string> became;
  std::vector<std::string> remaining;
  std::set<std::string> parameters, fused_parts;
  if (config.target_parameters)
    parameters.insert(config.target_parameters->begin(), config.target_parameters->end());
  for (const std::string& target : targets) {
    const auto found = std::ranges::find_if(
        renamed, [&](const auto& pair) { return ends_at_dot(target, pair.first); });
    if (found == renamed.end()) {
      remaining.push_back(target);
      continue;
    }
    became[target] = found->second;
    parameters.insert(found->second);
    if (found->second == fused_name) fused_parts.insert(found->first);
  }
  if (fused_parts.size() == 1) {
    const std::string& present = *fused_parts.begin();
    const std::string_view missing = present == old->gate ? old->up : old->gate;
    throw UserError(ExitCode::invalid_recipe,
                    "the adapter's target '" + present + "' needs '" + std::string(missing) +
                        "' too: experts have both in one tensor, " + std::string(fused_name));
  }
  if (fused_parts.size() == 2) {
    const std::string key = ".*\\." + std::string(fused_name);
    set_pattern(config.rank_pattern, key, 2 * config.rank);
    set_pattern(config.alpha_pattern, key, 2 * config.alpha);
  }
  config.targets = {.kind = Targets::Kind::suffixes, .suffixes = remaining, .expression = {}};
  config.target_parameters.emplace(parameters.begin(), parameters.end());
  return became;
}

}  // namespace trainx::adapter
