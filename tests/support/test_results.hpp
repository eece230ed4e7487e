// Results of the test cases of one process.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace trainx {

/// Each case's result is also appended to the file that TRAINX_TEST_RECORD names, as it ends: lines
/// {"test", "result", "seconds", "why"}, after a line with the result "began".
class TestResults {
 public:
  static TestResults& of_process();

  void begin(const std::string& test);
  void skip(const std::string& why);
  /// `asserted`: the case made assertions, so that it is skipped in part at most.
  void end(bool passed, bool asserted);

  bool is_empty() const { return ran_ + failed_ + skipped_ == 0; }
  /// 1 after a failure: a count of failures could be 77. 77 if every case was skipped, or one
  /// because there is no GPU.
  int exit_code(int of_catch) const;
  /// tests: {"ran": N, "failed": N, "skipped": N, "why": {REASON: [NAME, ...]}}; no names if no
  /// case ran.
  std::string closing_line() const;

 private:
  std::string test_, why_;
  std::chrono::steady_clock::time_point began_;
  int ran_ = 0, failed_ = 0, skipped_ = 0;
  std::map<std::string, std::vector<std::string>> skipped_by_;  // reason
};

}  // namespace trainx
