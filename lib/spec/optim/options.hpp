// Optimizers that there are: a file each, and a line in this list.
#pragma once
#include "spec/optim/adamw.hpp"
#include "spec/optim/sgd.hpp"
#include <variant>

namespace trainx::spec {
using OptimizerOptions = std::variant<AdamWOptions, SgdOptions>;
}  // namespace trainx::spec
