#pragma once
#include <cstdint>

namespace trainx::launch {

/// Beam search: the texts that are followed side by side, and how the best is chosen.
struct BeamOptions {
  std::int64_t beams = 1;  // 1: there is no search
  // A text's score is the sum of its tokens' log-probabilities by their number to this power.
  double length_penalty = 1;
  friend bool operator==(const BeamOptions&, const BeamOptions&) = default;
};

/// Throws UserError 2 with the option of the command line that is out of its range.
void check_beams(const BeamOptions& options);

}  // namespace trainx::launch
