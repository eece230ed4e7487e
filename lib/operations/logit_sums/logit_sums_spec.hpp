#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

struct LogitPart;  // logit_sums.hpp

/// What a rank that has the logits of some classes, logits[N, W], knows of each row: numbers[N, 5]
/// (kernels::LogitNumber), of which those of all ranks make the loss (PartLoss).
struct LogitSums {
  static constexpr std::string_view name = "logit_sums";
  static constexpr Work work = Work::loss;
  enum Input : int { logits, targets };
  enum Output : int { numbers };
  static constexpr std::int64_t numbers_of_row = 5;

  std::int64_t classes = 0;        // of all ranks; each has as many columns, the last ones padding
  double scale = 1, soft_cap = 0;  // CrossEntropy's

  bool operator==(const LogitSums&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

 private:
  LogitPart part(const OpContext& c, const Tensor& of) const;
};

}  // namespace trainx::operations
