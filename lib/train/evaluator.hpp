#pragma once
#include "train/executor.hpp"

namespace trainx::train {

struct EvalResult {
  double loss = 0;                      // mean over all targets; the last, smaller batch counts with its own weight
  std::int64_t targets = 0;
};

/// Runs the plan's evaluation program over held-out samples, in the training arena.
class Evaluator {
 public:
  /// `source` holds the held-out samples. References must outlive the evaluator.
  Evaluator(const plan::PlacedProgram& placed, Arena& arena, const model::Blocks& blocks, const data::Source& source);
  /// Over the first `samples` (-1: all). The memory must be at rest.
  EvalResult run(std::int64_t samples = -1);

 private:
  void fetch(data::BatchView out);

  const data::Source& source_;
  std::int64_t micro_batch_size_;
  std::int64_t next_sample_ = 0, end_sample_ = 0;
  double loss_sum_ = 0, target_count_ = 0;
  Executor executor_;                   // last: its lanes call back into this object
};

}  // namespace trainx::train
