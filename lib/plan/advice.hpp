// Sizes that would make a step faster on the plan's GPU: what is off the tensor cores' multiples, or leaves multiprocessors idle, and what to write instead.
#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

struct Advice {
  struct Setting { std::string key; std::int64_t now = 0, better = 0; };
  std::vector<Setting> settings;        // set together
  double gain_s = 0;                    // of the step's predicted time, for as many tokens
  double share = 0;                     // of it
  std::int64_t more_bytes = 0;          // memory that it takes beside
  std::string reason;                   // what is lost now
  bool changes_training = false;        // another global batch, length or model: another result, not only another cut
};

/// Predicted gains of at least this share of a step are told.
constexpr double least_gain = 0.01;

/// The largest gain first; nothing where nothing is to be gained, or where the machine's rates are not known.
std::vector<Advice> advise(const RunPlan& plan);

/// For people, a line each with a title; "" where there is none.
std::string describe(const std::vector<Advice>& advice, const RunPlan& plan);
nlohmann::json to_json(const std::vector<Advice>& advice);

}  // namespace trainx::plan
