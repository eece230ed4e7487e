#include "plan/parameter_groups.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

std::vector<std::string> names_of(const program::ModelGraph& graph) {
  std::vector<std::string> names;
  for (const program::GroupSpec& group : graph.groups)
    for (const program::ParameterSpec& p : group.parameters) names.push_back(p.name);
  return names;
}

/// The longest run of characters without a star.
std::string_view longest_part(std::string_view pattern) {
  std::string_view longest;
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    if (star > longest.size()) longest = pattern.substr(0, star);
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return longest;
}

/// Names that share most with what the pattern says, at most three.
std::vector<std::string> near(std::string_view pattern, const std::vector<std::string>& names) {
  if (const auto one = suggest(pattern, names)) return {*one};
  const std::string_view part = longest_part(pattern);
  std::size_t most = 0;
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::size_t shared = 0;
    for (std::size_t from = 0; from < part.size(); ++from)
      for (std::size_t n = part.size() - from; n > shared; --n)
        if (name.find(part.substr(from, n)) != std::string::npos) shared = n;
    if (shared > most) most = shared, out.clear();
    if (shared == most && out.size() < 3) out.push_back(name);
  }
  return out;
}

}  // namespace

std::vector<graph::ParameterRule> parameter_rules(const Draft& plan) {
  const recipe::OptimizerSection& optimizer = plan.recipe.optimizer;
  std::vector<graph::ParameterRule> rules;
  for (const recipe::ParameterGroup& group : optimizer.groups) {
    graph::ParameterRule& rule = rules.emplace_back();
    // "transformer.h.0.*" of a GPT-2 folder is "h.0.*"
    rule.pattern = architectures::parameter_name(plan.dims, group.match);
    if (rule.pattern.empty()) rule.pattern = group.match;
    if (group.freeze) rule.trained = !*group.freeze;
    rule.lr_scale = group.lr ? *group.lr / optimizer.lr : group.lr_scale;
    rule.weight_decay = group.weight_decay;
  }
  return rules;
}

void require_groups_match(const Draft& plan, const program::ModelGraph& graph) {
  const std::vector<graph::ParameterRule> rules = parameter_rules(plan);
  const std::vector<std::string> names = names_of(graph);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const std::string& match = rules[k].pattern;
    if (std::ranges::any_of(names, [&](const auto& n) { return graph::matches(match, n); }))
      continue;
    std::string list;
    for (const std::string& name : near(match, names)) list += (list.empty() ? "" : ", ") + name;
    throw UserError(ExitCode::invalid_recipe, "optimizer.groups[" + std::to_string(k) +
                                                  "].match: no parameter of the model is called " +
                                                  plan.recipe.optimizer.groups[k].match +
                                                  "; near are " + list);
  }
  if (std::ranges::none_of(graph.groups,
                           [](const program::GroupSpec& g) { return g.training.trained; }))
    throw UserError(ExitCode::invalid_recipe,
                    "optimizer.groups freeze all parameters of the model: nothing is left to "
                    "train; match fewer, or add a map with freeze: false behind them");
}

}  // namespace trainx::plan
