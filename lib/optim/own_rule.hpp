#pragma once
#include "options/optim/own.hpp"
#include "trainx/optimizer_definition.hpp"

namespace trainx::optim {

/// A rule of the user's own with its options. What it throws becomes UserError 78 with the name of
/// the optimizer; what it makes on a CPU that is not finite, UserError 80.
class OwnRule {
 public:
  explicit OwnRule(const options::OwnOptimizerOptions& options);

  /// Updates the range, in the host's memory; gradients and states come in finite. No gradients are
  /// recorded.
  void update(const UpdateRange& range) const;
  /// The same of a rule that computes with tensors, on any device, whose numbers stay unread.
  void update(const UpdateTensors& range) const;

  bool on_tensors() const { return options_.on_tensors; }
  const std::vector<program::StateSpec>& states() const { return options_.kept; }
  double weight_decay() const { return weight_decay_; }
  const std::string& name() const { return options_.name; }
  /// "rule makes weights that are not finite; ...". `state`: whose numbers are not; none: the
  /// weights.
  std::string not_finite(int state) const;

 private:
  options::OwnOptimizerOptions options_;
  UpdateRule rule_;
  double weight_decay_ = 0;
};

/// Throws UserError 78 if the rule gives other numbers where a range is cut into several: tries it
/// on drawn numbers.
void check_element_wise(const OwnRule& rule);

}  // namespace trainx::optim
