#include "adapter/matcher.hpp"
#include "core/number.hpp"
#include <algorithm>

namespace trainx::adapter {

bool SuffixSet::matches_end_of(const std::string& name) const {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (suffixes_.contains(name.substr(dot + 1))) return true;
  return false;
}

TargetMatcher::TargetMatcher(const Targets& targets, const std::string& place)
    : suffixes_(targets.suffixes) {
  if (targets.kind == Targets::Kind::expression)
    expression_.emplace(targets.expression, Expression::Extent::whole, place);
}

bool TargetMatcher::matches(const std::string& name) const {
  if (expression_) return expression_->matches(name);
  return suffixes_.has(name) || suffixes_.matches_end_of(name);
}

Matcher::Matcher(const Config& config) : targets_(config.targets, "the adapter's targets") {
  if (config.exclude_modules) excluded_.emplace(*config.exclude_modules, "exclude_modules");
  if (config.modules_to_save)
    for (const std::string& module : *config.modules_to_save)
      saved_.emplace_back("(^|.*\\.)" + module + "($|\\..*)", Expression::Extent::start,
                          "modules_to_save");
  if (config.layers_to_transform && !config.layers_to_transform->values.empty()) {
    layers_ = config.layers_to_transform->values;
    if (config.layers_pattern)
      for (const std::string& pattern : config.layers_pattern->values)
        if (!pattern.empty() || config.layers_pattern->is_list)
          layer_index_.emplace_back("(?:^|.*?\\.)" + pattern + "\\.(?P<idx>\\d+)\\.",
                                    Expression::Extent::start, "layers_pattern");
    if (layer_index_.empty())
      layer_index_.emplace_back(".*?\\.[^.]*\\.(?P<idx>\\d+)\\.", Expression::Extent::start,
                                "layers_pattern");
  }
}

bool Matcher::is_in_layers(const std::string& name) const {
  for (const Expression& expression : layer_index_) {
    const auto digits = expression.group_of_match(name, "idx");
    if (!digits) continue;
    const std::size_t zeros = std::min(digits->find_first_not_of('0'), digits->size() - 1);
    const auto index = parse_integer(std::string_view(*digits).substr(zeros));
    return index && std::ranges::find(*layers_, *index) != layers_->end();
  }
  return false;
}

Matcher::Match Matcher::match(const std::string& name) const {
  if (excluded_ && excluded_->matches(name)) return Match::excluded;
  if (std::ranges::any_of(saved_, [&](const Expression& e) { return e.matches(name); }))
    return Match::excluded;
  if (!targets_.matches(name)) return Match::none;
  // A module that is named whole is one whatever its layer.
  const bool asks_layer = layers_ && !targets_.is_expression() && !targets_.has(name);
  return !asks_layer || is_in_layers(name) ? Match::target : Match::none;
}

}  // namespace trainx::adapter
