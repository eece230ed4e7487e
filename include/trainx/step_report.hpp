#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace trainx {

/// What came out of one step, the same on all ranks.
struct StepReport {
  std::int64_t step = 0;    // counts from 1
  double loss = 0;          // mean over the global batch's targets, before the update
  double grad_norm = 0;     // before clipping
  double lr = 0;            // the one used
  double loss_scale = 1;    // the one used
  std::int64_t tokens = 0;  // of the global batch
  double seconds = 0;       // that the step took
  std::map<std::string, double> metrics = {};  // of a loss of your own
};

}  // namespace trainx
