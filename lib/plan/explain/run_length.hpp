// How long a whole run takes, as people ask before they start it: days, GPU hours, tokens, money.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainx::plan {

/// Of training alone: evaluations and checkpoints come on top.
struct RunLength {
  std::int64_t steps = -1;      // -1: not known, as a duration in time has so many as fit
  double tokens = 0;            // of those steps
  bool counts_padding = false;  // of tokens: samples may be shorter than their rows
  double seconds = 0;           // 0: no time is predicted
  double gpu_hours = 0;         // of all ranks; 0: no time is predicted, or none is on a GPU
};
RunLength run_length(const RunPlan& plan);

/// "41.0k", or "at most 41.0k" where samples may be shorter than their rows.
std::string tokens_words(const RunPlan& plan, double tokens);

/// "20 d 17 h, 31.8k GPU hours: 63.6k EUR". `price`: of a GPU hour, in EUR; 0: not given. Needs
/// `length.seconds`.
std::string describe(const RunLength& length, double price);
nlohmann::json to_json(const RunLength& length, double price);

}  // namespace trainx::plan
