#include "metrics/memory_error_watch.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace memory_error_watch_test {

using namespace trainx;
using namespace trainx::metrics;

namespace {

MemoryErrors counted(std::int64_t corrected, std::int64_t uncorrected) {
  MemoryErrors errors;
  errors.corrected = corrected;
  errors.uncorrected = uncorrected;
  errors.row_remap_failed = errors.row_remap_pending = false;
  return errors;
}

}  // namespace

TEST_CASE("a GPU without errors, or without ECC, has no news") {
  MemoryErrorWatch watch("the GPU (H200)");
  CHECK(watch.news(counted(5, 0)).empty());
  CHECK(watch.news(counted(900, 0)).empty());
  CHECK(watch.begin() == counted(5, 0));
  CHECK(watch.last() == counted(900, 0));
  MemoryErrorWatch none("the GPU (H200)");
  CHECK(none.news({}).empty());
  CHECK(none.news({}).empty());
}

TEST_CASE("errors from before the run are told once, those that it sees each time") {
  MemoryErrorWatch watch("the GPU (H200)");
  const auto before = watch.news(counted(0, 2));
  REQUIRE(before.size() == 1);
  check_sentence("metrics.memory_error_watch/before", before[0]);
  CHECK(watch.news(counted(1, 2)).empty());
  const auto one = watch.news(counted(1, 3));
  REQUIRE(one.size() == 1);
  check_sentence("metrics.memory_error_watch/during", one[0]);
  CHECK(watch.news(counted(1, 3)).empty());
  CHECK(watch.news(counted(1, 5)).size() == 1);
  CHECK(watch.begin() == counted(0, 2));
  // the driver was loaded again
  CHECK(watch.news(counted(0, 0)).empty());
}

TEST_CASE("a row that waits for a reset is told once, whenever it comes") {
  MemoryErrorWatch watch("the GPU (H200)");
  CHECK(watch.news(counted(0, 0)).empty());
  MemoryErrors pending = counted(0, 0);
  pending.row_remap_pending = true;
  const auto told = watch.news(pending);
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("nvidia-smi -r") != std::string::npos);
  CHECK(watch.news(pending).empty());
  pending.row_remap_failed = true;
  CHECK(watch.news(pending).size() == 1);
}

}  // namespace memory_error_watch_test
