#include "measure_rule.hpp"
#include "operations/module/module_device.hpp"
#include "trainx/update_tensors.hpp"
#include <ATen/ops/full.h>
#include <chrono>

namespace trainx::worker {
namespace {

constexpr std::int64_t elements = std::int64_t{2} << 20;  // as a plan cuts ranges

UpdateTensors some_range(const optim::OwnRule& rule, const model::custom::MeasuredDevice& device) {
  const auto numbers = [](at::IntArrayRef dims, double value, at::ScalarType type) {
    return at::full(dims, value, at::TensorOptions(operations::module_device()).dtype(type));
  };
  UpdateTensors range{numbers({elements}, 0.1, at::kFloat),
                      numbers({elements}, 0.01, at::kFloat),
                      {},
                      numbers({}, 1e-3, at::kDouble),
                      numbers({}, 1, at::kDouble),
                      rule.weight_decay(),
                      device.stream()};
  for (const program::StateSpec& state : rule.states())
    range.states.push_back(numbers({elements}, state.initial, at::kFloat));
  return range;
}

}  // namespace

facts::OwnRuleFacts measure_rule(const optim::OwnRule& rule,
                                 model::custom::MeasuredDevice& device) {
  UpdateTensors range;
  device.compute([&] { range = some_range(rule, device); });
  const auto update = [&] { rule.update(range); };
  // libraries load in the first call what they keep
  for (int call = 0; call < 2; ++call) device.compute(update);
  const program::Bytes before = device.used_bytes();
  device.reset_peak();
  device.compute(update);
  const program::Bytes taken = device.peak_bytes() - before;

  constexpr int calls = 10;
  using Clock = std::chrono::steady_clock;
  const std::string doing = "optimizer " + rule.name();
  operations::between_steps_on_module_device(doing, update);
  const auto begin = Clock::now();
  operations::between_steps_on_module_device(doing, [&] {
    for (int call = 0; call < calls; ++call) update();
  });
  const std::chrono::duration<double> took = Clock::now() - begin;

  constexpr program::Bytes of_numbers = program::Bytes{2} << 20;
  facts::OwnRuleFacts found;
  found.bytes_per_element = static_cast<double>(taken) / elements;
  found.seconds_per_element = took.count() / calls / elements;
  if (device.captures()) {
    double replay_s = 0;
    const std::string why =
        device.try_capture(device.planned(taken) + of_numbers, update, replay_s);
    if (why.empty())
      found.seconds_per_element = replay_s / elements;
    else
      found.not_captured = "the rule of optimizer '" + rule.name() + "' " + why;
  }
  return found;
}

}  // namespace trainx::worker
