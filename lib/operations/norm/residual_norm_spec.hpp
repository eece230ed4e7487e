#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

/// sum = residual + dropout(branch + bias), and its LayerNorm (Ba et al. 2016, arXiv:1607.06450),
/// normed = (sum - mean) * rstd * weight + shift. One without the other: a sum alone, or the norm
/// of what is there.
///
/// With the operands before_weight and before_shift the residual first goes through the LayerNorm
/// that they describe: models whose norm follows the sum keep the sum, and make the norm's result
/// anew where it is added to.
struct ResidualNorm {
  static constexpr std::string_view name = "residual_norm";
  static constexpr Work work = Work::norm;
  static constexpr bool of_rows_alone = true;
  enum Input : int { residual, branch, positions, rows };
  enum Parameter : int { weight, shift, bias, before_weight, before_shift };
  enum Output : int { sum, mean, rstd, normed };
  // of a frozen weight or shift, whose gradients one kernel makes: both
  enum Scratch : int { unused };

  bool adds = false;   // else `residual` is the sum
  bool norms = false;  // else sum is the only output
  double epsilon = 1e-5;
  double dropout = 0;        // of the branch; its site is the block's first
  bool rms = false;          // RMSNorm (Zhang & Sennrich 2019, arXiv:1910.07467): no mean
  double weight_offset = 0;  // added to the norm's weight
  double branch_scale = 1;   // sum = residual + branch_scale * dropout(branch + bias)
  // weight, shift or bias may be absent, or there is no norm behind the sum: loops for all forms
  bool any_form = false;

  bool operator==(const ResidualNorm&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
  bool scales() const { return branch_scale != 1; }
  /// Of picked rows, which come some at a time: before the first and after the last.
  void begin_backward(const OpContext& c) const;
  void finish_backward(const OpContext& c) const;

 private:
  bool has_unused_gradients(const Types& t) const;
  void run_any_backward(const OpContext& c, const Tensor& d_sum) const;
};

}  // namespace trainx::operations
