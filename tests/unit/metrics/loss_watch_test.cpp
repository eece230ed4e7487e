#include "metrics/loss_watch.hpp"
#include "support/catch.hpp"
#include <limits>

namespace loss_watch_test {

namespace {

using trainx::metrics::LossWatch;
using trainx::metrics::RunningLoss;

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Counts what is told, step after step.
struct Told {
  LossWatch watch;
  RunningLoss running;
  std::int64_t step = 0;
  bool asked_for_samples = false;
  std::size_t operator()(double loss, double grad_norm = 1, bool adapts = false, double scale = 1) {
    const auto samples = [&] {
      asked_for_samples = true;
      return std::string("samples 1, 2");
    };
    return watch.news({++step, loss, grad_norm, scale, adapts}, running, samples).size();
  }
};

}  // namespace

TEST_CASE("the first value that is not finite is told with its samples, later ones are counted") {
  for (const auto& [loss, norm] : {std::pair(not_a_number, 1.0), std::pair(infinity, 1.0),
                                   std::pair(2.0, not_a_number), std::pair(2.0, infinity)}) {
    Told told;
    CHECK(told(2) == 0);
    CHECK_FALSE(told.asked_for_samples);
    CHECK(told(loss, norm) == 1);
    CHECK(told.asked_for_samples);
    CHECK(told(loss, norm) == 0);
    CHECK(told.watch.non_finite_steps() == 2);
    CHECK(told.running.mean == 2);
  }
}

TEST_CASE("steps that fp16's search for a loss scale skips are told only below scale 1") {
  Told told;
  for (double scale = 65536; scale >= 1; scale /= 2) CHECK(told(2, infinity, true, scale) == 0);
  CHECK(told(2, infinity, true, 0.5) == 1);
  CHECK(told(2, infinity, true, 0.25) == 0);
  CHECK(told.watch.non_finite_steps() == 0);
  // no scale mends a loss that is not finite
  CHECK(told(not_a_number, infinity, true, 65536) == 1);
  Told fixed;
  CHECK(fixed(2, infinity, false, 65536) == 1);
}

TEST_CASE("a loss far above its running mean is told once each time") {
  Told told;
  CHECK(told(2000) == 0);  // nothing to compare with
  Told steady;
  for (int i = 0; i < 5; ++i) CHECK(steady(2) == 0);
  CHECK(steady(19.9) == 0);
  const double mean = steady.running.mean;
  CHECK(steady(10 * mean + 1) == 1);
  CHECK(steady(100 * mean) == 0);  // the same event
  CHECK(steady.running.mean == mean);
  CHECK(steady(mean) == 0);
  CHECK(steady(11 * mean) == 1);
}

TEST_CASE("the running mean follows a level that falls slowly") {
  Told told;
  double level = 10;
  for (int i = 0; i < 400; ++i) CHECK(told(level *= 0.99) == 0);
  CHECK(told.running.mean < 2 * level);
  CHECK(told(20 * level) == 1);
}

}  // namespace loss_watch_test
