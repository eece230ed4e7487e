#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// What a run's checkpoints take on the disk.
struct CheckpointSize {
  std::int64_t each_bytes = 0;  // fp32 weights, optimizer states, headers
  // at a time: keep_last, `best` if the run evaluates, and the one being written; no more than the
  // run writes
  std::int64_t most = 0;
  bool is_all_written = false;  // `most` is what the run writes: nothing is pruned
  std::int64_t most_bytes() const { return each_bytes * most; }
};
CheckpointSize checkpoint_size(const RunPlan& plan);

/// Empty if checkpoints fit beside `kept_bytes` of them that lie there already, else a sentence.
struct DiskRoom {
  // not even the first new checkpoint fits beside the old ones
  std::string refusal;
  std::string warning;  // the first fits, the most that are kept do not
};
DiskRoom disk_room(const CheckpointSize& size, std::int64_t kept_bytes, std::int64_t free_bytes,
                   const std::string& folder);

}  // namespace trainx::plan
