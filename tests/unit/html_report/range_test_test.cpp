#include "html_report/range_test.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace range_test_test {

using namespace trainx::html_report;

namespace {

/// lr of step s: a hundred steps from 1e-6 to 10.
double lr_at(int s) { return 1e-6 * std::pow(1e7, s / 99.0); }

Points curve(double (*loss)(double lr)) {
  Points points;
  for (int s = 0; s < 100; ++s) points.push_back({lr_at(s), loss(lr_at(s))});
  return points;
}

}  // namespace

TEST_CASE("a range test suggests the steepest descent and a tenth of the divergence") {
  // Falls around 1e-3 as a logistic curve of ln(lr), rises from 0.3 on.
  const RangeTest test = analyze_range_test(curve([](double lr) {
    return 6 - 3 / (1 + std::exp(-2 * std::log(lr / 1e-3))) + (lr > 0.3 ? 20 * (lr - 0.3) : 0);
  }));
  REQUIRE(test.steepest);
  CHECK(*test.steepest > 1e-3);  // smoothing lags behind the curve
  CHECK(*test.steepest < 1e-2);
  REQUIRE(test.diverged_at);
  CHECK(*test.diverged_at > 0.3);
  CHECK(*test.diverged_at < 5);
  CHECK(*test.tenth() == *test.diverged_at / 10);
  CHECK(test.points.back().lr == *test.diverged_at);
  CHECK(test.points.back().smoothed > 1.25 * 3);
}

TEST_CASE("a loss that is not finite ends a range test") {
  Points points = curve([](double lr) { return 5 - std::log10(lr / 1e-6) / 10; });
  points[40].y = NAN;
  const RangeTest test = analyze_range_test(points);
  CHECK(test.points.size() == 41);
  CHECK(*test.diverged_at == points[40].x);
  REQUIRE(test.steepest);
  CHECK(*test.steepest < points[40].x);
}

TEST_CASE("a range test without descent or divergence suggests nothing") {
  const RangeTest flat = analyze_range_test(curve([](double) { return 4.0; }));
  CHECK(!flat.diverged_at);
  CHECK(!flat.tenth());
  CHECK(flat.points.size() == 100);
  const RangeTest rising = analyze_range_test(curve([](double lr) { return 4 + lr; }));
  CHECK(!rising.steepest);
  CHECK(rising.diverged_at);
  CHECK(!analyze_range_test({}).steepest);
  CHECK(!analyze_range_test({{1e-3, 4}}).steepest);
}

TEST_CASE("smoothed losses are bias corrected") {
  const RangeTest test = analyze_range_test({{1e-3, 4}, {2e-3, 2}});
  CHECK(std::abs(test.points[0].smoothed - 4) < 1e-12);
  CHECK(std::abs(test.points[1].smoothed - (0.9 * 0.1 * 4 + 0.1 * 2) / (1 - 0.81)) < 1e-12);
}

TEST_CASE("the page of a range test has a logarithmic axis and its suggestions") {
  const RangeTest test = analyze_range_test(
      curve([](double lr) { return 6 - std::log10(lr / 1e-6) / 2 + (lr > 1 ? 10 * lr : 0); }));
  const std::string page = range_test_page(test, "<x>");
  CHECK(page.find("&lt;x&gt;") != std::string::npos);
  CHECK(page.find("<x>") == std::string::npos);
  CHECK(page.find(">1e-05<") != std::string::npos);  // ticks are decades
  CHECK(page.find("class='key level'") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  CHECK(range_test_page(analyze_range_test({}), "x").find("<svg") == std::string::npos);
}

}  // namespace range_test_test
