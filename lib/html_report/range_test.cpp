#include "html_report/range_test.hpp"
#include "html_report/html.hpp"
#include "html_report/plot.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::html_report {
namespace {

constexpr double decay = 0.9;  // of the exponential mean: it spans about ten steps

/// Between the first point and the lowest smoothed loss: central differences over ln(lr).
std::optional<double> steepest_descent(const std::vector<RangeTestPoint>& points) {
  const auto lower = [](const RangeTestPoint& a, const RangeTestPoint& b) {
    return std::isfinite(a.smoothed) && !(a.smoothed >= b.smoothed);
  };
  const auto lowest = std::ranges::min_element(points, lower) - points.begin();
  std::optional<double> lr;
  double slope = 0;
  for (std::ptrdiff_t i = 1; i + 1 <= lowest; ++i) {
    const RangeTestPoint &before = points[static_cast<std::size_t>(i - 1)],
                         &after = points[static_cast<std::size_t>(i + 1)];
    const double here = (after.smoothed - before.smoothed) / std::log(after.lr / before.lr);
    if (here < slope) slope = here, lr = points[static_cast<std::size_t>(i)].lr;
  }
  return lr;
}

std::string suggestion(const std::optional<double>& lr) {
  return lr ? short_number(*lr) : std::string("none");
}

}  // namespace

std::optional<double> RangeTest::tenth() const {
  return diverged_at ? std::optional(*diverged_at / 10) : std::nullopt;
}

RangeTest analyze_range_test(const Points& points) {
  RangeTest test;
  double mean = 0, weight = 1, lowest = std::numeric_limits<double>::infinity();
  for (const Point& p : points) {
    mean = decay * mean + (1 - decay) * p.y;
    weight *= decay;
    const double smoothed = mean / (1 - weight);
    test.points.push_back({p.x, p.y, smoothed});
    if (!std::isfinite(smoothed) || smoothed > divergence_factor * lowest) {
      test.diverged_at = p.x;
      break;
    }
    lowest = std::min(lowest, smoothed);
  }
  test.steepest = steepest_descent(test.points);
  return test;
}

std::string range_test_page(const RangeTest& test, const std::string& name) {
  Curve loss{"loss", {}}, smoothed{"smoothed", {}};
  std::vector<std::vector<std::string>> rows;
  for (const RangeTestPoint& p : test.points) {
    loss.points.push_back({p.lr, p.loss});
    smoothed.points.push_back({p.lr, p.smoothed});
    rows.push_back({short_number(p.lr), short_number(p.loss), short_number(p.smoothed)});
  }
  Plot plot{"loss over learning rate", "nats per target", {loss, smoothed}};
  plot.logarithmic_x = true;
  plot.x_name = "learning rate";
  if (test.steepest) plot.marks.push_back({"steepest descent", *test.steepest});
  if (test.tenth()) plot.marks.push_back({"a tenth of divergence", *test.tenth()});
  const std::string body =
      "<h1>Learning-rate range test of " + escaped(name) + "</h1>" +
      table({"suggestion", "learning rate"},
            {{"steepest descent", suggestion(test.steepest)},
             {"a tenth of the rate that diverged", suggestion(test.tenth())}}) +
      figure(plot) + "<details><summary>" + std::to_string(rows.size()) + " steps</summary>" +
      table({"learning rate", "loss", "smoothed"}, rows) + "</details>";
  return html_page("learning rate of " + name, body);
}

}  // namespace trainx::html_report
