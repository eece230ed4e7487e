#include "support/test_results.hpp"
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include "support/skip.hpp"

namespace trainx {

namespace {

constexpr int exit_skipped = 77;  // SKIP_RETURN_CODE of tests/CMakeLists.txt

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void record(const nlohmann::ordered_json& line) {
  if (const char* path = std::getenv("TRAINX_TEST_RECORD"); path && *path)
    std::ofstream(path, std::ios::app) << text_of(line) + "\n";
}

}  // namespace

void note_skipped(const std::string& why) { TestResults::of_process().skip(why); }

TestResults& TestResults::of_process() {
  static TestResults results;
  return results;
}

void TestResults::begin(const std::string& test) {
  test_ = test;
  why_.clear();
  began_ = std::chrono::steady_clock::now();
  record({{"test", test_}, {"result", "began"}});
}

void TestResults::skip(const std::string& why) { why_ = why; }

void TestResults::end(bool passed, bool asserted) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began_;
  const bool skipped = passed && !why_.empty() && !asserted;
  ++(skipped ? skipped_ : passed ? ran_ : failed_);
  if (!why_.empty()) skipped_by_[why_].push_back(test_ + (skipped ? "" : " (in part)"));
  record({{"test", test_},
          {"result", skipped  ? "skipped"
                     : passed ? "passed"
                              : "failed"},
          {"seconds", seconds.count()},
          {"why", why_}});
}

int TestResults::exit_code(int of_catch) const {
  if (is_empty()) return of_catch;
  if (failed_ > 0 || of_catch != 0) return 1;
  return ran_ == 0 || skipped_by_.contains(no_gpu) ? exit_skipped : 0;
}

std::string TestResults::closing_line() const {
  nlohmann::ordered_json why = nlohmann::ordered_json::object();
  for (const auto& [reason, tests] : skipped_by_)
    why[reason] = ran_ + failed_ > 0 ? tests : std::vector<std::string>();
  return "tests: " + text_of({{"ran", ran_ + failed_},
                              {"failed", failed_},
                              {"skipped", skipped_},
                              {"why", std::move(why)}});
}

}  // namespace trainx
