// The order of a recipe's keys. Reader, dumper and help are walkers:
//   begin(key), end()                  a map inside the recipe
//   (key, value, limits, doc)          a field (visit_fields calls it)
//   type(variant)                      the key `type`, which names the alternative
//   alternative(variant)               the fields of the chosen alternative (help: of all)
#pragma once
#include "recipe/sections.hpp"

namespace trainx::recipe {

template <class Walker, class Section>
void walk_section(Walker& w, std::string_view key, Section& section) {
  w.begin(key);
  visit_fields(w, section);
  w.end();
}

/// A section whose `type` has a map of `options`.
template <class Walker, class Section>
void walk_typed_section(Walker& w, std::string_view key, Section& section) {
  w.begin(key);
  w.type(section.options);
  visit_fields(w, section);
  w.begin("options");
  w.alternative(section.options);
  w.end();
  w.end();
}

template <class Walker>
void walk(Walker& w, Recipe& r) {
  walk_section(w, "run", r.run);
  walk_typed_section(w, "model", r.model);
  w.begin("data");
  w.type(r.data.source);
  w.alternative(r.data.source);
  visit_fields(w, r.data);
  w.end();
  walk_section(w, "batch", r.batch);
  walk_section(w, "precision", r.precision);
  walk_typed_section(w, "optimizer", r.optimizer);
  walk_section(w, "schedule", r.schedule);
  walk_section(w, "memory", r.memory);
  walk_section(w, "parallel", r.parallel);
  walk_section(w, "checkpoint", r.checkpoint);
  walk_section(w, "eval", r.eval);
  walk_section(w, "metrics", r.metrics);
}

/// The names of a variant's alternatives, in order.
template <class... Options>
std::vector<std::string> alternative_names(const std::variant<Options...>&) { return {std::string(Options::name)...}; }

template <class... Options>
std::string alternative_name(const std::variant<Options...>& v) {
  return std::visit([](const auto& o) { return std::string(std::remove_cvref_t<decltype(o)>::name); }, v);
}

/// Makes the variant hold the `which`-th alternative with its defaults.
template <class... Options>
void choose_alternative(std::variant<Options...>& v, std::size_t which) {
  static const std::variant<Options...> defaults[] = {Options{}...};
  v = defaults[which];
}

/// Calls `f` with a default value of each alternative.
template <class F, class... Options>
void for_each_alternative(const std::variant<Options...>&, F&& f) {
  (f(Options{}), ...);
}

}  // namespace trainx::recipe
