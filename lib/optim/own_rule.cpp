#include "optim/own_rule.hpp"
#include "core/error.hpp"
#include "optim/own_definitions.hpp"
#include <ATen/core/grad_mode.h>

namespace trainx::optim {
namespace {

/// Vectorized: x - x is 0 of finite numbers, nan of others.
bool all_finite(std::span<const float> values) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] - values[i];
  return sum == 0;
}

}  // namespace

OwnRule::OwnRule(const options::OwnOptimizerOptions& options)
    : options_(options), rule_(optimizer_definition(options.name).build(options.fields)) {
  if (const double* decay = options::weight_decay_of(options_)) weight_decay_ = *decay;
}

void OwnRule::update(const UpdateRange& range) const {
  const std::string who = "optimizer " + name() + ": in update " + std::to_string(range.step) +
                          " its rule ";
  try {
    const at::NoGradGuard no_gradients;
    rule_(range);
  } catch (const c10::Error& e) {
    throw UserError(ExitCode::invalid_recipe, who + "fails: " + e.what_without_backtrace());
  } catch (const std::exception& e) {
    throw UserError(ExitCode::invalid_recipe, who + "fails: " + e.what());
  }
  const std::string remedy = " that are not finite; mend the rule, or lower optimizer.lr";
  if (!all_finite(range.parameter))
    throw UserError(ExitCode::diverged, who + "makes weights" + remedy);
  for (std::size_t k = 0; k < range.states.size(); ++k)
    if (!all_finite(range.states[k]))
      throw UserError(ExitCode::diverged,
                      who + "makes numbers of its state '" + states()[k].name + "'" + remedy);
}

}  // namespace trainx::optim
