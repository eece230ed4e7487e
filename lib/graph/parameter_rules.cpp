#include "graph/parameter_rules.hpp"
#include "core/error.hpp"

namespace trainx::graph {
namespace {

void apply(const ParameterRule& rule, ModelParameter& parameter) {
  program::GroupTraining& training = parameter.training;
  if (rule.trained) training.trained = *rule.trained;
  if (rule.lr_scale) training.lr_scale = *rule.lr_scale;
  if (!rule.weight_decay) return;
  parameter.spec.decay = *rule.weight_decay > 0;
  training.weight_decay.reset();
  if (parameter.spec.decay) training.weight_decay = rule.weight_decay;
}

/// Constants have no other settings.
void settle(ModelParameter& parameter) {
  if (!parameter.training.trained) parameter.training = {.trained = false};
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void apply(const std::vector<ParameterRule>& rules, Model& model) {
  if (rules.empty()) return;
  for (ModelParameter& parameter : model.parameters) {
    if (parameter.constant) continue;
    for (const ParameterRule& rule : rules)
      if (matches(rule.pattern, parameter.spec.name)) apply(rule, parameter);
    settle(parameter);
  }
  for (std::size_t k = 1; k < model.parameters.size(); ++k) {
    const ModelParameter &before = model.parameters[k - 1], &p = model.parameters[k];
    if (p.continues && (p.training != before.training || p.spec.decay != before.spec.decay))
      throw UserError(ExitCode::invalid_recipe,
                      "optimizer.groups: " + before.spec.name + " and " + p.spec.name +
                          " are computed as one tensor: give both the same freeze, lr and "
                          "weight_decay");
  }
}

}  // namespace trainx::graph
