#include "metrics/data_wait_watch.hpp"
#include "support/catch.hpp"

namespace data_wait_watch_test {

using trainx::metrics::DataWaitWatch;

namespace {

/// After how many steps it tells; 0: not within 100.
int told_after(double step_s, double wait_s) {
  DataWaitWatch watch(1, 4);
  for (int step = 1; step <= 100; ++step)
    if (const auto sentence = watch.news(step, step_s, wait_s)) {
      CHECK(sentence->find("data.workers") != std::string::npos);
      CHECK(sentence->find("data.prefetch") != std::string::npos);
      for (int more = 1; more <= 100; ++more) CHECK_FALSE(watch.news(step + more, step_s, wait_s));
      return step;
    }
  return 0;
}

}  // namespace

TEST_CASE("a wait for data above a twentieth of the steps' time is told once") {
  CHECK(told_after(1, 0.04) == 0);
  // three steps are left out, then five seconds
  CHECK(told_after(1, 0.06) == 8);
  CHECK(told_after(0.01, 0.005) == 0);  // too short a time so far
  // waits of several lanes may add up to more than the step
  CHECK(told_after(1, 3) == 8);
}

TEST_CASE("the first steps, whose queues are empty, do not count") {
  DataWaitWatch watch(1, 4);
  for (int step = 1; step <= 3; ++step) CHECK_FALSE(watch.news(step, 100, 100));
  for (int step = 4; step <= 100; ++step) CHECK_FALSE(watch.news(step, 1, 0.01));
}

}  // namespace data_wait_watch_test
