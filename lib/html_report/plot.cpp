#include "html_report/plot.hpp"
#include "html_report/html.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace trainx::html_report {
namespace {

// of the drawing and its margins, in SVG's units
constexpr double width = 720, height = 260, left = 62, right = 14, top = 10, bottom = 34;
constexpr std::size_t most_points = 900;

std::string fixed(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

/// From values to the drawing.
class Scale {
 public:
  Scale(double low, double high, double from, double to, bool logarithmic)
      : low_(low), high_(high), from_(from), to_(to), logarithmic_(logarithmic) {}
  double operator()(double x) const {
    const double share = logarithmic_ ? std::log(x / low_) / std::log(high_ / low_)
                                      : (x - low_) / (high_ - low_);
    return from_ + share * (to_ - from_);
  }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_, high_, from_, to_;
  bool logarithmic_;
};

struct Extent {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();
  void include(double x) {
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  }
  bool any() const { return low <= high; }
};

bool can_be_drawn(const Point& p, const Plot& plot) {
  return std::isfinite(p.y) && (!plot.logarithmic || p.y > 0) && (!plot.logarithmic_x || p.x > 0);
}

Scale horizontal(const Plot& plot, Extent x) {
  if (x.low == x.high && plot.logarithmic_x) x.low /= 2, x.high *= 2;
  if (x.low == x.high) x.low -= 1, x.high += 1;
  return {x.low, x.high, left, width - right, plot.logarithmic_x};
}

Scale vertical(const Plot& plot, Extent y) {
  if (plot.level) y.include(*plot.level);
  if (plot.logarithmic) {
    if (y.low == y.high) y.low /= 2, y.high *= 2;
    return {y.low / 1.1, y.high * 1.1, height - bottom, top, true};
  }
  const double room = y.high > y.low ? 0.05 * (y.high - y.low)
                                     : std::max(std::abs(y.high), 1.0) * 0.1;
  // near zero from zero on
  const double low = y.low >= 0 && y.low < 0.3 * y.high ? 0 : y.low - room;
  return {low, y.high + room, height - bottom, top, false};
}

/// Lines between the points, interrupted where one cannot be drawn.
std::string path_of(const Points& points, const Scale& x, const Scale& y, const Plot& plot) {
  std::string path;
  bool down = false;
  for (const Point& p : points) {
    if (!can_be_drawn(p, plot)) {
      down = false;
      continue;
    }
    path += (down ? "L" : "M") + fixed(x(p.x)) + " " + fixed(y(p.y));
    down = true;
  }
  return path;
}

std::string grid(const Scale& x, const Scale& y, const Plot& plot) {
  std::string out;
  for (const double t :
       plot.logarithmic ? logarithmic_ticks(y.low(), y.high()) : ticks(y.low(), y.high(), 5))
    out += "<line class='grid' x1='" + fixed(left) + "' x2='" + fixed(width - right) + "' y1='" +
           fixed(y(t)) + "' y2='" + fixed(y(t)) + "'/><text x='" + fixed(left - 8) + "' y='" +
           fixed(y(t) + 4) + "' text-anchor='end'>" + short_number(t) + "</text>";
  for (const double t :
       plot.logarithmic_x ? logarithmic_ticks(x.low(), x.high()) : ticks(x.low(), x.high(), 7))
    out += "<text x='" + fixed(x(t)) + "' y='" + fixed(height - bottom + 18) +
           "' text-anchor='middle'>" + short_number(t) + "</text>";
  return out + "<line class='axis' x1='" + fixed(left) + "' x2='" + fixed(width - right) +
         "' y1='" + fixed(height - bottom) + "' y2='" + fixed(height - bottom) + "'/><text x='" +
         fixed(width - right) + "' y='" + fixed(height - 2) + "' text-anchor='end'>" +
         escaped(plot.x_name) + "</text>";
}

/// What the page's script shows beside the pointer: [[name, [[x on the drawing, y on it, text],
/// ...]], ...].
std::string spots(const std::vector<Curve>& curves, const Scale& x, const Scale& y,
                  const Plot& plot) {
  auto all = nlohmann::json::array();
  for (const Curve& c : curves) {
    auto points = nlohmann::json::array();
    for (const Point& p : c.points)
      if (can_be_drawn(p, plot))
        points.push_back({std::round(10 * x(p.x)) / 10, std::round(10 * y(p.y)) / 10,
                          plot.x_name + " " + short_number(p.x) + ": " + short_number(p.y)});
    all.push_back({c.name, points});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  // nearer than that numbers are not round
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high))) || !std::isfinite(high - low))
    return {low};
  const double rough = (high - low) / count, decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double s : {1.0, 2.0, 5.0})
    if (s * decade >= rough) {
      step = s * decade;
      break;
    }
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    out.push_back(k == 0 ? 0 : k * step);
  return out;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> out;
  const bool few = std::log10(high / low) < 2.5;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
    for (const double s : {1.0, 2.0, 5.0})
      if ((s == 1 || few) && s * decade >= low && s * decade <= high) out.push_back(s * decade);
  return out;
}

Points thinned(const Points& points, std::size_t count) {
  if (points.size() <= count || count < 2) return points;
  Points out;
  const std::size_t buckets = count / 2;
  for (std::size_t b = 0; b < buckets; ++b) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(b * points.size() / buckets),
               end = points.begin() +
                     static_cast<std::ptrdiff_t>((b + 1) * points.size() / buckets);
    if (const auto gap =
            std::find_if(begin, end, [](const Point& p) { return !std::isfinite(p.y); });
        gap != end) {
      out.push_back(*gap);  // where it diverged shows
      continue;
    }
    const auto [low, high] =
        std::minmax_element(begin, end, [](const Point& a, const Point& c) { return a.y < c.y; });
    out.push_back(low < high ? *low : *high);
    if (low != high) out.push_back(low < high ? *high : *low);
  }
  if (out.back().x != points.back().x) out.push_back(points.back());
  return out;
}

std::string short_number(double x) {
  char text[32];
  const double size = std::abs(x);
  if (size >= 1e15)
    std::snprintf(text, sizeof text, "%.3g", x);
  else if (size >= 1e9)
    std::snprintf(text, sizeof text, "%.4gG", x / 1e9);
  else if (size >= 1e6)
    std::snprintf(text, sizeof text, "%.4gM", x / 1e6);
  else if (size >= 1e4)
    std::snprintf(text, sizeof text, "%.4gk", x / 1e3);
  else
    std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

std::string figure(const Plot& plot) {
  std::vector<Curve> curves;
  Extent x_extent, y_extent;
  for (const Curve& c : plot.curves) {
    Curve drawn{c.name, thinned(c.points, most_points), c.with_dots};
    bool any = false;
    for (const Point& p : drawn.points)
      if (can_be_drawn(p, plot)) any = true, x_extent.include(p.x), y_extent.include(p.y);
    if (any) curves.push_back(std::move(drawn));
  }
  if (curves.empty()) return {};
  const Scale x = horizontal(plot, x_extent), y = vertical(plot, y_extent);
  std::string drawing, legend;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const std::string kind = "curve c" + std::to_string(k);
    drawing += "<path class='" + kind + "' d='" + path_of(curves[k].points, x, y, plot) + "'/>";
    for (const Point& p : curves[k].points)
      if (curves[k].with_dots && can_be_drawn(p, plot))
        drawing += "<circle class='dot c" + std::to_string(k) + "' cx='" + fixed(x(p.x)) +
                   "' cy='" + fixed(y(p.y)) + "' r='3'/>";
    if (curves.size() > 1)
      legend += "<span class='key c" + std::to_string(k) + "'>" + escaped(curves[k].name) +
                "</span>";
  }
  if (plot.level) {
    drawing += "<line class='level' x1='" + fixed(left) + "' x2='" + fixed(width - right) +
               "' y1='" + fixed(y(*plot.level)) + "' y2='" + fixed(y(*plot.level)) + "'/>";
    legend += "<span class='key level'>" + escaped(plot.level_name) + " " +
              short_number(*plot.level) + "</span>";
  }
  for (const Mark& mark : plot.marks) {
    if (!(mark.x >= x.low() && mark.x <= x.high())) continue;
    const std::string at = fixed(x(mark.x));
    drawing += "<line class='level' x1='" + at + "' x2='" + at + "' y1='" + fixed(top) + "' y2='" +
               fixed(height - bottom) + "'/>";
    legend += "<span class='key level'>" + escaped(mark.name) + " " + short_number(mark.x) +
              "</span>";
  }
  return "<figure><figcaption><b>" + escaped(plot.title) + "</b> <span class='soft'>" +
         escaped(plot.unit) + "</span>" + legend + "</figcaption><svg viewBox='0 0 " +
         fixed(width) + " " + fixed(height) + "' role='img' aria-label='" + escaped(plot.title) +
         "' data-spots='" + escaped(spots(curves, x, y, plot)) + "'>" + grid(x, y, plot) + drawing +
         "</svg></figure>\n";
}

}  // namespace trainx::html_report
