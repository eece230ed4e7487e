#include "gpu/nvml.hpp"
#include "support/catch.hpp"

namespace nvml_test {

using namespace trainx;
using namespace trainx::gpu;

namespace {

/// A driver that answers what it is told to.
struct Fake {
  static inline unsigned long long reasons = 0;
  static inline unsigned ecc = 1;
  static NvmlFunctions functions() {
    NvmlFunctions f;
    f.energy = [](NvmlDevice, unsigned long long* mj) { return *mj = 12'500, 0; };
    f.power = [](NvmlDevice, unsigned* mw) { return *mw = 689'000, 0; };
    f.violation = [](NvmlDevice, int policy, NvmlViolationTime* t) {
      return *t = {0, policy == 0 ? 2'000'000'000ULL : 0ULL}, 0;
    };
    f.clock = [](NvmlDevice, int type, unsigned* mhz) { return *mhz = type == 1 ? 1455 : 0, 0; };
    f.highest_clock = [](NvmlDevice, int type, unsigned* mhz) {
      return *mhz = type == 1 ? 1980 : 0, 0;
    };
    f.reasons = [](NvmlDevice, unsigned long long* r) { return *r = reasons, 0; };
    f.utilization = [](NvmlDevice, NvmlUtilization* u) { return *u = {98, 43}, 0; };
    f.temperature = [](NvmlDevice, int sensor, unsigned* c) {
      return *c = sensor == 0 ? 64 : 0, 0;
    };
    f.ecc_mode = [](NvmlDevice, unsigned* now, unsigned* next) {
      *now = ecc, *next = 1 - ecc;
      return 0;
    };
    f.ecc_errors = [](NvmlDevice, unsigned kind, unsigned since, unsigned long long* count) {
      return *count = since == 0 ? 3 + kind : 0, 0;
    };
    f.remapped_rows = [](NvmlDevice, unsigned* by_corrected, unsigned* by_uncorrected,
                         unsigned* pending, unsigned* failed) {
      *by_corrected = *by_uncorrected = *failed = 0, *pending = 1;
      return 0;
    };
    f.memory = [](NvmlDevice, NvmlMemory* m) { return *m = {100, 30, 70}, 0; };
    return f;
  }
};

std::vector<ClockLimit> limits(unsigned long long reasons) {
  Fake::reasons = reasons;
  return read_power(Fake::functions(), nullptr).clock_limits;
}

}  // namespace

TEST_CASE("what NVML tells comes in units of its own, and is read in ours") {
  const PowerReading r = read_power(Fake::functions(), nullptr);
  CHECK(r.joules == 12.5);
  CHECK(r.watts == 689.0);
  CHECK(r.capped_seconds == 2.0);
  CHECK(r.clock_mhz == 1455);
  CHECK(r.highest_clock_mhz == 1980);
  CHECK(r.utilization == 0.98);
  CHECK(r.memory_utilization == 0.43);
  CHECK(r.temperature_celsius == 64);
  CHECK(r.used_bytes == 70);
  CHECK(r.total_bytes == 100);
}

TEST_CASE("a function that is missing or fails leaves out what it tells, and nothing else") {
  const PowerReading none = read_power({}, nullptr);
  CHECK_FALSE(none.joules.has_value());
  CHECK_FALSE(none.utilization.has_value());
  CHECK_FALSE(none.used_bytes.has_value());
  CHECK(none.clock_limits.empty());
  NvmlFunctions some = Fake::functions();
  some.temperature = nullptr;
  // not supported
  some.utilization = [](NvmlDevice, NvmlUtilization* u) { return *u = {7, 7}, 3; };
  const PowerReading r = read_power(some, nullptr);
  CHECK_FALSE(r.temperature_celsius.has_value());
  CHECK_FALSE(r.utilization.has_value());
  CHECK(r.watts == 689.0);
}

TEST_CASE(
    "what holds the clock down is named by its cause; the hardware's slowdown alone where none is "
    "told") {
  CHECK(limits(0).empty());
  CHECK(limits(0x1).empty());  // idle
  CHECK(limits(0x4) == std::vector{ClockLimit::power_limit});
  CHECK(limits(0x4 | 0x20) == std::vector{ClockLimit::power_limit, ClockLimit::temperature});
  CHECK(limits(0x8 | 0x40) == std::vector{ClockLimit::hardware_temperature});
  CHECK(limits(0x8 | 0x80) == std::vector{ClockLimit::power_brake});
  CHECK(limits(0x8) == std::vector{ClockLimit::hardware_slowdown});
  CHECK(limits(0x2) == std::vector{ClockLimit::application_clocks});
}

TEST_CASE("ECC's counters are read where ECC is on; what a GPU does not tell is not known") {
  const MemoryErrors errors = read_memory_errors(Fake::functions(), nullptr);
  CHECK(errors.corrected == 3);
  CHECK(errors.uncorrected == 4);
  CHECK(errors.row_remap_pending == true);
  CHECK(errors.row_remap_failed == false);
  Fake::ecc = 0;
  const MemoryErrors off = read_memory_errors(Fake::functions(), nullptr);
  Fake::ecc = 1;
  CHECK_FALSE(off.uncorrected.has_value());
  CHECK_FALSE(off.corrected.has_value());
  NvmlFunctions none = Fake::functions();
  none.ecc_mode = [](NvmlDevice, unsigned*, unsigned*) { return 3; };  // not supported
  none.remapped_rows = nullptr;
  CHECK_FALSE(read_memory_errors(none, nullptr).known());
  CHECK_FALSE(read_memory_errors({}, nullptr).known());
}

}  // namespace nvml_test
