#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace trainx {

/// What an evaluation found, the same on all ranks.
struct EvaluationReport {
  std::int64_t step = 0;                       // finished steps of the weights
  double loss = 0;                             // mean over all targets
  std::int64_t targets = 0;                    // how many
  std::map<std::string, double> metrics = {};  // perplexity, accuracy, those of your own loss
};

}  // namespace trainx
