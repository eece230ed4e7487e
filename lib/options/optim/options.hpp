// Optimizers that there are: a file each, and a line in this list. The last stands for those of the
// user's own.
#pragma once
#include "options/optim/adafactor.hpp"
#include "options/optim/adagrad.hpp"
#include "options/optim/adam.hpp"
#include "options/optim/adamw.hpp"
#include "options/optim/adamw_8bit.hpp"
#include "options/optim/adamw_anyprecision.hpp"
#include "options/optim/lamb.hpp"
#include "options/optim/lion.hpp"
#include "options/optim/own.hpp"
#include "options/optim/sgd.hpp"
#include <variant>

namespace trainx::options {
using OptimizerOptions = std::variant<AdamWOptions, SgdOptions, AdamOptions, AdagradOptions,
                                      LionOptions, AdamWAnyPrecisionOptions, AdamW8bitOptions,
                                      AdafactorOptions, LambOptions, OwnOptimizerOptions>;

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

/// Where its weight decay is; null: it knows none.
template <class Options>
double* weight_decay_of(Options& o) {
  return &o.weight_decay;
}

/// The same optimizer with another weight decay, where it knows one.
inline OptimizerOptions with_weight_decay(OptimizerOptions options, double weight_decay) {
  if (double* own = std::visit([](auto& o) { return weight_decay_of(o); }, options))
    *own = weight_decay;
  return options;
}
}  // namespace trainx::options
