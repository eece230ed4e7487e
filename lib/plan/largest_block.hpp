// What of a run cannot be cut, put aside or shared: a block's operands lie on the device together.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

struct LargestBlock {
  std::string operation;  // "backward of h3"
  // with the fewest samples that the recipe lets a micro-step have
  std::int64_t micro_batch_size = 1;
  std::int64_t bytes = 0;  // of its operands, on the device at once
};

LargestBlock largest_block(const Draft& plan);

}  // namespace trainx::plan
