// Sizes that would be faster on the plan's GPU: multiples for tensor cores, full waves of tiles.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

struct Advice {
  struct Setting {
    std::string key;
    std::int64_t now = 0, better = 0;
  };
  std::vector<Setting> settings;  // set together
  double gain_s = 0;              // predicted, per step, for the same number of tokens
  double share = 0;               // of it
  std::int64_t more_bytes = 0;    // memory that it adds
  std::string reason;             // what the current sizes lose
  bool changes_training = false;  // changes global batch, length or model, hence the result
};

/// Smaller predicted gains, as shares of a step, are not reported.
constexpr double least_gain = 0.01;

/// Largest gain first. Empty if nothing is gained, or if the machine's rates are unknown.
std::vector<Advice> advise(const RunPlan& plan);

/// A titled list as text; "" if there is no advice.
std::string describe(const std::vector<Advice>& advice, const RunPlan& plan);
nlohmann::json to_json(const std::vector<Advice>& advice);

}  // namespace trainx::plan
