#pragma once
#include <cstdint>
#include <string>

namespace trainx::facts {

/// What a worker measured of its optimizer's rule, one that computes with tensors, on a GPU.
struct OwnRuleFacts {
  double bytes_per_element = 0;    // that the rule allocates, at most
  double seconds_per_element = 0;  // that it takes, where it is given many
  // why a CUDA graph cannot hold it: "optimizer 'x' calls ...". Empty: it can
  std::string not_captured;
};

}  // namespace trainx::facts
