// What trainx would say of a recipe that it can run: what is slow, not needed, or left to a default
// that does not suit it.
#pragma once
#include "inputs.hpp"
#include "plan/explain/pretrained.hpp"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainx::app {

/// What `plan` prints below the plan.
struct PlanAdvice {
  std::string text;        // titled lists; "" if there is nothing
  nlohmann::json entries;  // of all lists
  std::vector<std::string> hints, warnings;
};
PlanAdvice plan_advice(const Prepared& p, const plan::PlanOptions& options);

/// Of it, what `train` says before it starts: methods that are not needed, fp32 on a GPU that has
/// bf16, defaults that do not suit trained weights. `warn` gets the warnings; the rest are
/// messages.
void tell_advice(const Prepared& p, const Context& context,
                 const std::function<void(const std::string&)>& warn);

/// What `validate` says too.
plan::PretrainedRemarks remarks_of(const Prepared& p);

}  // namespace trainx::app
