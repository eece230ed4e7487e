#pragma once
#include <trainx/option_field.hpp>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace trainx {

struct UpdateRange;
struct UpdateTensors;

/// What an optimizer keeps: a number in fp32 for each element of a parameter.
struct OptimizerState {
  std::string name;    // in checkpoints, e.g. "momentum"
  double initial = 0;  // of every element
};

/// Over numbers in the host's memory, or with tensors where the parameters are.
using UpdateRule = std::variant<std::function<void(const UpdateRange&)>,
                                std::function<void(const UpdateTensors&)>>;

/// An optimizer of the user's own as trainx sees it. <trainx/optimizer.hpp> makes these.
struct OptimizerDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  std::vector<OptimizerState> states;
  bool on_tensors = false;  // which of the two rules build makes
  std::function<UpdateRule(const std::vector<OptionField>& options)> build;
};

/// Makes the optimizer known to this worker; before worker_main, which tells what is wrong with it.
void add_optimizer_definition(OptimizerDefinition definition);

}  // namespace trainx
