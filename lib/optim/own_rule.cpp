#include "optim/own_rule.hpp"
#include "core/error.hpp"
#include "optim/own_definitions.hpp"
#include "trainx/update_range.hpp"
#include "trainx/update_tensors.hpp"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>

namespace trainx::optim {
namespace {

/// Vectorized: x - x is 0 of finite numbers, nan of others.
bool all_finite(std::span<const float> values) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] - values[i];
  return sum == 0;
}

/// The same memory for a rule that computes with tensors.
UpdateTensors tensors_of(const UpdateRange& range) {
  const auto number = [](double x) { return at::scalar_tensor(x, at::kDouble); };
  UpdateTensors tensors{range.parameter_view(),
                        range.gradient_view(),
                        {},
                        number(range.lr),
                        number(static_cast<double>(range.step)),
                        range.weight_decay};
  for (std::size_t k = 0; k < range.states.size(); ++k)
    tensors.states.push_back(range.state_view(k));
  return tensors;
}

}  // namespace

OwnRule::OwnRule(const options::OwnOptimizerOptions& options)
    : options_(options), rule_(optimizer_definition(options.name).build(options.fields)) {
  if (const double* decay = options::weight_decay_of(options_)) weight_decay_ = *decay;
}

namespace {

/// `who`: "optimizer x: in update 3 its rule ".
void call(const std::string& who, const std::function<void()>& rule) {
  try {
    const at::NoGradGuard no_gradients;
    rule();
  } catch (const UserError&) {  // of the memory that it asks for
    throw;
  } catch (const c10::OutOfMemoryError& e) {
    throw UserError(ExitCode::out_of_memory,
                    who + "finds no memory: " + e.what_without_backtrace());
  } catch (const c10::Error& e) {
    throw UserError(ExitCode::invalid_recipe, who + "fails: " + e.what_without_backtrace());
  } catch (const std::exception& e) {
    throw UserError(ExitCode::invalid_recipe, who + "fails: " + e.what());
  }
}

}  // namespace

std::string OwnRule::not_finite(int state) const {
  const std::string what = state == program::none
                               ? std::string("weights")
                               : "numbers of its state '" +
                                     states().at(static_cast<std::size_t>(state)).name + "'";
  return "rule makes " + what + " that are not finite; mend the rule, or lower optimizer.lr";
}

void OwnRule::update(const UpdateRange& range) const {
  const std::string who = "optimizer " + name() + ": in update " + std::to_string(range.step) +
                          " its ";
  call(who + "rule ", [&] {
    if (const auto* numbers = std::get_if<std::function<void(const UpdateRange&)>>(&rule_))
      (*numbers)(range);
    else
      std::get<std::function<void(const UpdateTensors&)>>(rule_)(tensors_of(range));
  });
  if (!all_finite(range.parameter))
    throw UserError(ExitCode::diverged, who + not_finite(program::none));
  for (std::size_t k = 0; k < range.states.size(); ++k)
    if (!all_finite(range.states[k]))
      throw UserError(ExitCode::diverged, who + not_finite(static_cast<int>(k)));
}

void OwnRule::update(const UpdateTensors& range) const {
  call("optimizer " + name() + ": its rule ",
       [&] { std::get<std::function<void(const UpdateTensors&)>>(rule_)(range); });
}

}  // namespace trainx::optim
