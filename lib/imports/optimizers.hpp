// Optimizers by the names of transformers (TrainingArguments.optim) and DeepSpeed (optimizer.type).
#pragma once
#include "imports/settings.hpp"

namespace trainx::imports {

struct OptimizerName {
  std::string_view theirs, ours;    // ours empty: trainx has no such thing
  bool betas = false, eps = false;  // whether it takes adam_beta1 and adam_beta2, adam_epsilon
  std::string_view remark;          // what differs, or what it is
};

/// Null for a name that nobody knows.
const OptimizerName* find_transformers_optimizer(std::string_view name);
const OptimizerName* find_deepspeed_optimizer(std::string_view name);

/// Sets optimizer.type where this trainx has the optimizer that `key` names; else lists it and asks
/// for a type. `name` null: listed as unknown. True where it was set.
bool map_optimizer(Settings& settings, std::string_view key, const OptimizerName* name,
                   std::string_view defaults);

}  // namespace trainx::imports
