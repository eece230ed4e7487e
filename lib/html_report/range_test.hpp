// What a learning-rate range test says: loss over an exponentially rising learning rate.
#pragma once
#include "html_report/run_record.hpp"

namespace trainx::html_report {

/// One step of the test.
struct RangeTestPoint {
  double lr = 0, loss = 0;  // nats per target
  double smoothed = 0;      // exponential mean of the losses so far, bias corrected
};

struct RangeTest {
  std::vector<RangeTestPoint> points;  // up to and including the step that diverged
  std::optional<double> diverged_at;   // learning rate; empty: the loss never diverged
  std::optional<double> steepest;      // learning rate of the steepest descent of the smoothed loss
  /// A tenth of diverged_at.
  std::optional<double> tenth() const;
};

/// The test diverges at the first loss that is not finite, or whose smoothed value is more than
/// `divergence_factor` times the lowest smoothed value before it.
constexpr double divergence_factor = 1.25;

/// `points`: x learning rate, rising; y loss.
RangeTest analyze_range_test(const Points& points);

/// The test as a page: the curve, both suggestions, a table.
std::string range_test_page(const RangeTest& test, const std::string& name);

}  // namespace trainx::html_report
