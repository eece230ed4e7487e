// Curves as SVG that needs nothing beside it; what it looks like is the page's style
// (page_style.hpp).
#pragma once
#include "html_report/run_record.hpp"

namespace trainx::html_report {

struct Curve {
  std::string name;
  Points points;  // by x; NaN interrupts the line
  bool with_dots = false;
};

/// A vertical line with a word in the legend.
struct Mark {
  std::string name;
  double x = 0;
};

struct Plot {
  std::string title, unit;      // "nats per token", "tokens/s"
  std::vector<Curve> curves;    // at most three; those without points are left out
  bool logarithmic = false;     // of y; values that are not above 0 are left out
  std::optional<double> level;  // a dashed line across
  std::string level_name;
  bool logarithmic_x = false;  // points whose x is not above 0 are left out
  std::string x_name = "step";
  std::vector<Mark> marks;  // vertical lines
};

/// Round values within [low, high], about `count`.
std::vector<double> ticks(double low, double high, int count);
/// Decades within [low, high], and 2 and 5 of each where there are few.
std::vector<double> logarithmic_ticks(double low, double high);
/// At most about `count` of them, each bucket's lowest and highest, so that spikes stay.
Points thinned(const Points& points, std::size_t count);
/// "1.2k", "3e-05", "0.5".
std::string short_number(double x);
/// A figure with heading, legend, axes and curves; empty where there are no points.
std::string figure(const Plot& plot);

}  // namespace trainx::html_report
