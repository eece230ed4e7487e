#pragma once
#include "options/field.hpp"
#include "program/states.hpp"
#include <string>
#include <string_view>
#include <vector>

namespace trainx::options {

struct OwnOptimizerOptions;
/// Optimizers of the worker that is named, in the order of its description. Set once, before the
/// first recipe is read.
const std::vector<OwnOptimizerOptions>& described_optimizers();
void set_described_optimizers(std::vector<OwnOptimizerOptions> optimizers);

/// An optimizer of the user's own worker (trainx/optimizer.hpp): in a description with defaults, in
/// a recipe as written. Its rule is element-wise.
struct OwnOptimizerOptions {
  static constexpr std::string_view of_worker = "an optimizer";
  std::string name, summary;
  std::vector<OptionField> fields;
  std::vector<program::StateSpec> kept;  // fp32, an entry for each element
  bool on_tensors = false;  // on the device of the parameters; else over numbers, by the CPU

  static const std::vector<OwnOptimizerOptions>& described() { return described_optimizers(); }
};

template <class Visitor>
void visit_fields(Visitor& field, OwnOptimizerOptions& o) {
  for (OptionField& f : o.fields)
    std::visit([&](auto& value) { field(f.key, value, f.limits, f.doc); }, f.value);
}

inline std::vector<program::StateSpec> states(const OwnOptimizerOptions& o) { return o.kept; }

/// Its option `weight_decay`; null: it has none.
double* weight_decay_of(OwnOptimizerOptions& o);

/// What forbids a description, as a sentence; empty: nothing. `taken`: names of trainx's own.
std::string check_description(const std::vector<OwnOptimizerOptions>& optimizers,
                              const std::vector<std::string>& taken);

}  // namespace trainx::options
