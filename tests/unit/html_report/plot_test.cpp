#include "html_report/plot.hpp"
#include "html_report/html.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <cmath>
#include <random>

namespace plot_test {

using namespace trainx::html_report;

TEST_CASE("ticks are round, within the range, and about as many as asked for") {
  CHECK(ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks(0.13, 0.87, 4) == std::vector<double>{0.2, 0.4, 0.6000000000000001, 0.8});
  CHECK(ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(ticks(1e9, 1e9 + 1e-7, 5).size() == 1);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < 1000; ++i) {
    const double a = std::pow(10, exponent(random)), b = a + std::pow(10, exponent(random));
    const auto t = ticks(a, b, 5);
    if (!(b > a)) continue;
    CAPTURE(a, b);
    CHECK(t.size() <= 6);
    for (const double x : t) CHECK((x >= a - 1e-6 * (b - a) && x <= b + 1e-6 * (b - a)));
  }
  CHECK(logarithmic_ticks(0.9, 25) == std::vector<double>{1, 2, 5, 10, 20});
  CHECK(logarithmic_ticks(0.9, 1.1e4) == std::vector<double>{1, 10, 100, 1000, 10000});
}

TEST_CASE("thinned curves keep their spikes, their ends and their gaps") {
  Points points;
  for (int i = 0; i < 100000; ++i) points.push_back({static_cast<double>(i), std::sin(i * 1e-3)});
  points[54321].y = 99;
  points[12345].y = NAN;
  const Points few = thinned(points, 900);
  CHECK(few.size() <= 902);
  CHECK(std::ranges::any_of(few, [](const Point& p) { return p.y == 99; }));
  CHECK(std::ranges::any_of(few, [](const Point& p) { return std::isnan(p.y); }));
  CHECK(few.back().x == 99999);
  CHECK(std::ranges::is_sorted(few, [](const Point& a, const Point& b) { return a.x < b.x; }));
  CHECK(thinned({{1, 2}}, 900).size() == 1);
}

TEST_CASE("numbers are short") {
  for (const auto& [x, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                           {0.5, "0.5"},
                                                                           {3e-5, "3e-05"},
                                                                           {1234, "1234"},
                                                                           {12345, "12.35k"},
                                                                           {6.2e8, "620M"},
                                                                           {1e300, "1e+300"},
                                                                           {-20000, "-20k"}})
    CHECK(short_number(x) == text);
}

TEST_CASE(
    "a figure of nothing is nothing, one point is a figure, what diverged interrupts the curve") {
  CHECK(figure({"t", "u", {{"a", {}}}}).empty());
  CHECK(figure({"t", "u", {{"a", {{1, NAN}}}}}).empty());
  CHECK(figure({"t", "u", {{"a", {{1, -3}}}}, true}).empty());
  const std::string one = figure({"t", "u", {{"a", {{1, 5}}}}});
  CHECK(one.find("nan") == std::string::npos);
  CHECK(one.find("inf") == std::string::npos);
  const std::string gap =
      figure({"<t>", "u", {{"a", {{1, 5}, {2, 6}, {3, NAN}, {4, INFINITY}, {5, 6}, {6, 7}}}}});
  CHECK(gap.find("&lt;t&gt;") != std::string::npos);
  CHECK(gap.find("nan") == std::string::npos);
  const auto path =
      gap.substr(gap.find(" d='"), gap.find("'/>", gap.find(" d='")) - gap.find(" d='"));
  CHECK(std::ranges::count(path, 'M') == 2);
}

TEST_CASE("text cannot become markup") {
  CHECK(escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
}

}  // namespace plot_test
