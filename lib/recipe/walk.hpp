// The order of a recipe's keys. Reader, dumper and help are walkers:
//   begin(key), end()                  a map inside the recipe
//   (key, value, limits, doc)          a field (visit_fields calls it)
//   list(key, entries, doc)            a list of maps, each walked by walk_entry (visit_fields
//   calls it) type(variant)                      the key `type`, which names the alternative
//   alternative(variant)               the fields of the chosen alternative (help: of all)
#pragma once
#include "recipe/sections.hpp"
#include <algorithm>
#include <type_traits>

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
  if constexpr (requires { section.adapter; }) walk_section(w, "adapter", section.adapter);
  w.end();
}

/// One map of a list; its `type`, if it has one, has its fields beside it.
template <class Walker, class Entry>
void walk_entry(Walker& w, Entry& entry) {
  visit_fields(w, entry);
  if constexpr (requires { entry.source; }) {
    w.type(entry.source);
    w.alternative(entry.source);
  }
}

/// A list that need not be there.
template <class Entry>
concept OfOptionalList = requires {
  Entry::list_may_be_absent;
};

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
  w.begin("schedule");
  w.type(r.schedule.course);
  visit_fields(w, r.schedule);
  w.alternative(r.schedule.course);
  w.end();
  w.begin("memory");
  visit_fields(w, r.memory);
  walk_section(w, "optimizer_offload", r.memory.optimizer_offload);
  w.end();
  walk_section(w, "parallel", r.parallel);
  walk_section(w, "checkpoint", r.checkpoint);
  w.begin("eval");
  visit_fields(w, r.eval);
  walk_section(w, "best", r.eval.best);
  walk_section(w, "early_stopping", r.eval.early_stopping);
  w.end();
  walk_section(w, "generate", r.generate);
  walk_section(w, "metrics", r.metrics);
}

/// An alternative that stands for as many as are known when the program runs.
template <class Options>
concept Described = requires {
  Options::described();
};

/// Calls `f` with a default value of each alternative, in order.
template <class F, class... Options>
void for_each_alternative(const std::variant<Options...>&, F&& f) {
  const auto call = [&]<class O>(std::type_identity<O>) {
    if constexpr (Described<O>)
      std::ranges::for_each(O::described(), f);
    else
      f(O{});
  };
  (call(std::type_identity<Options>{}), ...);
}

/// An alternative that stands for what a worker has of the user's own.
template <class Options>
concept OfWorker = requires {
  Options::of_worker;
};

template <class... Options>
constexpr bool can_be_described(const std::variant<Options...>&) {
  return (Described<Options> || ...);
}

/// Is any of a worker's own known? Of some alternatives trainx itself describes a few.
template <OfWorker Options>
bool has_of_worker() {
  std::ptrdiff_t built_in = 0;
  if constexpr (requires { Options::built_in; }) built_in = Options::built_in;
  return std::ssize(Options::described()) > built_in;
}

/// What a worker could have of the user's own ("a model") where none is known; else empty.
template <class... Options>
std::string_view unknown_of_worker(const std::variant<Options...>&) {
  std::string_view what;
  const auto look = [&]<class O>(std::type_identity<O>) {
    if constexpr (OfWorker<O>)
      if (!has_of_worker<O>()) what = O::of_worker;
  };
  (look(std::type_identity<Options>{}), ...);
  return what;
}

template <class Variant>
std::vector<std::string> alternative_names(const Variant& v) {
  std::vector<std::string> names;
  for_each_alternative(v, [&](const auto& o) { names.emplace_back(o.name); });
  return names;
}

template <class... Options>
std::string alternative_name(const std::variant<Options...>& v) {
  return std::visit([](const auto& o) { return std::string(o.name); }, v);
}

/// Makes the variant hold the `which`-th alternative with its defaults.
template <class Variant>
void choose_alternative(Variant& v, std::size_t which) {
  std::size_t i = 0;
  for_each_alternative(v, [&](const auto& o) {
    if (i++ == which) v = o;
  });
}

}  // namespace trainx::recipe
