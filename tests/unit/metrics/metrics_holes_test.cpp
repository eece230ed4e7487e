#include "metrics/metrics_file.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace metrics_holes_test {

using namespace trainx;

namespace {

std::string line(int step) { return "{\"step\":" + std::to_string(step) + "}\n"; }
std::string lines(int first, int last, int every = 1) {
  std::string text;
  for (int step = first; step <= last; step += every) text += line(step);
  return text;
}
std::string holes(const std::string& text, std::int64_t resumed_step) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "metrics.jsonl", text);
  return metrics::MetricsFile(folder / "metrics.jsonl", resumed_step).holes();
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a whole file has no holes, whatever its last line and however often steps are logged") {
  CHECK(holes(lines(1, 20), 20).empty());
  CHECK(holes(lines(1, 25), 20).empty());
  CHECK(holes(lines(1, 20) + "{\"step\":2", 20).empty());  // killed while it was written
  CHECK(holes(line(1) + lines(50, 100, 50), 140).empty());
  CHECK(holes(line(1), 40).empty());
  CHECK(holes("", 0).empty());
}

TEST_CASE("holes are told of") {
  CHECK(contains(holes("", 20), "steps 1 to 20"));
  CHECK(contains(holes(lines(1, 9), 20), "steps 10 to 20"));
  CHECK(contains(holes(lines(1, 9) + std::string(400, '\0') + "\n" + lines(15, 20), 20), "1 of"));
  CHECK(contains(holes("\x01\x02\n" + lines(1, 9) + "{\"step\"\n", 20), "2 of"));
}

}  // namespace metrics_holes_test
