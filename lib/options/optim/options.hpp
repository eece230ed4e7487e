// Optimizers that there are: a file each, and a line in this list.
#pragma once
#include "options/optim/adafactor.hpp"
#include "options/optim/adagrad.hpp"
#include "options/optim/adam.hpp"
#include "options/optim/adamw.hpp"
#include "options/optim/adamw_8bit.hpp"
#include "options/optim/adamw_anyprecision.hpp"
#include "options/optim/lamb.hpp"
#include "options/optim/lion.hpp"
#include "options/optim/sgd.hpp"
#include <variant>

namespace trainx::options {
using OptimizerOptions =
    std::variant<AdamWOptions, SgdOptions, AdamOptions, AdagradOptions, LionOptions,
                 AdamWAnyPrecisionOptions, AdamW8bitOptions, AdafactorOptions, LambOptions>;

/// The smallest part of a tensor that the optimizer updates by itself.
template <class Options>
constexpr program::Unit unit_of(const Options&) {
  if constexpr (requires { Options::unit; })
    return Options::unit;
  else
    return program::Unit::element;
}

/// What it sums over whole tensors before it updates parts of them; nothing where an element's
/// update needs none of the others.
template <class Options>
std::vector<program::TensorSums> tensor_sums_of(const Options& o) {
  if constexpr (requires { tensor_sums(o); })
    return tensor_sums(o);
  else
    return {};
}

/// The same optimizer with another weight decay.
inline OptimizerOptions with_weight_decay(OptimizerOptions options, double weight_decay) {
  std::visit([&](auto& o) { o.weight_decay = weight_decay; }, options);
  return options;
}
}  // namespace trainx::options
