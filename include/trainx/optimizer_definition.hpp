#pragma once
#include <trainx/option_field.hpp>
#include <trainx/update_range.hpp>
#include <functional>
#include <string>
#include <vector>

namespace trainx {

/// What an optimizer keeps: a number in fp32 for each element of a parameter.
struct OptimizerState {
  std::string name;    // in checkpoints, e.g. "momentum"
  double initial = 0;  // of every element
};

using UpdateRule = std::function<void(const UpdateRange&)>;

/// An optimizer of the user's own as trainx sees it. <trainx/optimizer.hpp> makes these.
struct OptimizerDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  std::vector<OptimizerState> states;
  std::function<UpdateRule(const std::vector<OptionField>& options)> build;
};

/// Makes the optimizer known to this worker; before worker_main, which tells what is wrong with it.
void add_optimizer_definition(OptimizerDefinition definition);

}  // namespace trainx
