#pragma once
#include "data/spread.hpp"
#include "execute/device.hpp"
#include "execute/ranks.hpp"
#include <cstdint>

namespace trainx::train {

struct EvalResult {
  // mean over all targets; the last, smaller batch counts with its own weight
  double loss = 0;
  std::int64_t targets = 0;
  std::int64_t samples = 0, all_samples = 0;  // evaluated, of those in the held-out set
  // perplexity of language models; accuracy and f1 as far as the model sums what they follow from
  std::map<std::string, double> metrics;
};

/// Runs the plan's evaluation programs over held-out samples, in the memory of training. Of the
/// outputs only sums are kept.
class Evaluator {
 public:
  /// `blocks`: of each of the plan's programs; `source` holds the held-out samples. References must
  /// outlive the evaluator. Of several ranks each takes its share of the samples, and all get the
  /// whole result.
  Evaluator(const plan::RunPlan& plan, execute::Device& device,
            const std::vector<model::Blocks>& blocks, const data::Source& source,
            execute::Ranks ranks = {});
  /// Over `samples` of them (-1: all), evenly spread over the set, the same ones each time. The
  /// memory must be at rest.
  EvalResult run(std::int64_t samples = -1);
  /// See execute::Executor: where nothing trains on the device, before the first run.
  void prepare_weights() { executor_->prepare_weights(); }

 private:
  std::size_t take_shape();
  std::int64_t first_of(std::int64_t micro_batch) const;
  void fetch(data::BatchView out);
  void add(const execute::StepScalarsReport& report);

  const plan::RunPlan& plan_;
  const data::Source& source_;
  std::optional<architectures::Masking> masking_;
  std::optional<architectures::TargetShift> shift_;  // seq2seq
  std::vector<std::int64_t> target_lengths_;         // ... beside each of the plan's row_lengths
  std::int64_t rank_ = 0, ranks_ = 1;                // that share the samples
  execute::Ranks among_;                             // ... where they do
  std::int64_t submitted_ = 0, fetched_ = 0;         // micro-batches of this rank
  data::Spread spread_{1, 1, 0};                     // which samples are evaluated, in order
  double loss_sum_ = 0, target_count_ = 0;
  std::map<std::string, std::vector<double>> sums_;
  std::unique_ptr<execute::Executor> executor_;  // last: its lanes call back into this object
};

}  // namespace trainx::train
