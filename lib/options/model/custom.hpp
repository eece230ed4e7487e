// Options of models of a user's own worker: known when the program runs, from what the worker says
// of them (`--describe`) or, in the worker itself, from what was added to it.
#pragma once
#include "options/field.hpp"
#include "options/model/task.hpp"
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainx::options {

struct CustomOptions;
/// The models that there are, in the order of the description. Set once, before the first recipe is
/// read; of a worker that has none of its own, exported alone.
const std::vector<CustomOptions>& described_models();
void set_described_models(std::vector<CustomOptions> models);

/// A model's options: in a description with defaults, in a recipe as written.
struct CustomOptions {
  static constexpr std::string_view of_worker = "a model";
  static constexpr std::ptrdiff_t built_in = 1;  // that trainx itself describes: exported
  std::string name, summary;
  std::vector<OptionField> fields;

  static const std::vector<CustomOptions>& described() { return described_models(); }
  const OptionField* find(std::string_view key) const;
  OptionField* find(std::string_view key);
};

template <class Visitor>
void visit_fields(Visitor& field, CustomOptions& o) {
  for (OptionField& f : o.fields)
    std::visit([&](auto& value) { field(f.key, value, f.limits, f.doc); }, f.value);
}

/// What forbids a description, as a sentence; empty: nothing. Names of trainx's own models are
/// taken.
std::string check_description(const std::vector<CustomOptions>& models,
                              const std::vector<std::string>& taken);

/// The option `task`; of a model that has none, causal_lm.
Task task(const CustomOptions& o);

}  // namespace trainx::options
