#include "metrics/clock_watch.hpp"
#include "metrics/report.hpp"
#include "metrics/status_line.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <nlohmann/json.hpp>

namespace clock_watch_test {

using namespace trainx;
using namespace trainx::metrics;

namespace {

PowerReading limited_by(std::vector<ClockLimit> limits) {
  PowerReading r;
  r.clock_mhz = 1200;
  r.highest_clock_mhz = 1980;
  r.temperature_celsius = 87;
  r.clock_limits = std::move(limits);
  return r;
}

}  // namespace

TEST_CASE("each cause that holds the clock down is told once, the power limit never") {
  ClockWatch watch;
  CHECK(watch.news({}).empty());
  CHECK(watch.news(limited_by({ClockLimit::power_limit})).empty());
  const auto first = watch.news(limited_by({ClockLimit::power_limit, ClockLimit::temperature}));
  REQUIRE(first.size() == 1);
  check_sentence("metrics.clock_watch/temperature", first[0]);
  CHECK(watch.news(limited_by({})).empty());
  // again: told already
  CHECK(watch.news(limited_by({ClockLimit::temperature})).empty());
  const auto others =
      watch.news(limited_by({ClockLimit::application_clocks, ClockLimit::temperature,
                             ClockLimit::power_brake, ClockLimit::hardware_slowdown}));
  REQUIRE(others.size() == 3);
  CHECK(others[0].find("nvidia-smi -rac") != std::string::npos);
  PowerReading mute;
  mute.clock_limits = {ClockLimit::sync_boost};
  check_sentence("metrics.clock_watch/sync_boost", watch.news(mute).front());
}

TEST_CASE("the power limit is reported, and no reason to call a clock held down") {
  CHECK_FALSE(is_held_down({}));
  CHECK_FALSE(is_held_down(limited_by({ClockLimit::power_limit})));
  CHECK(is_held_down(limited_by({ClockLimit::power_limit, ClockLimit::power_brake})));
  CHECK(limited_by({ClockLimit::power_limit, ClockLimit::power_brake}).clock_reason() ==
        "power limit, power brake");
}

TEST_CASE(
    "what the driver tells is in metrics.jsonl where it tells it, and in the status line where it "
    "helps") {
  StepReport r;
  CHECK_FALSE(to_json(r).contains("gpu_utilization"));
  CHECK_FALSE(to_json(r).contains("temperature_celsius"));
  r.gpu_utilization = 0.5;
  r.memory_utilization = 0.25;
  r.temperature_celsius = 61;
  r.device_used_bytes = 5;
  r.device_total_bytes = 9;
  r.watts = 690;
  r.clock_mhz = 1410;
  r.clock_reason = "power limit";
  const auto j = to_json(r);
  for (const auto& [key, value] : {std::pair("gpu_utilization", 0.5),
                                   {"memory_utilization", 0.25},
                                   {"temperature_celsius", 61.0},
                                   {"device_used_bytes", 5.0},
                                   {"device_total_bytes", 9.0},
                                   {"watts", 690.0}})
    CHECK(j.at(key).get<double>() == value);
  CHECK(status_line(r, {}, -1, false, 200).find("MHz") == std::string::npos);
  const std::string verbose = status_line(r, {}, -1, true, 200);
  CHECK(verbose.find("GPU 50 % | 690 W | 61 C") != std::string::npos);
  r.clock_held_down = true;
  r.clock_reason = "temperature";
  CHECK(status_line(r, {}, -1, false, 200).find("1410 MHz (temperature)") != std::string::npos);
}

}  // namespace clock_watch_test
