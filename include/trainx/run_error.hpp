#pragma once
#include <stdexcept>
#include <string>

namespace trainx {

/// What a trainx::Run cannot do. `what()` is one sentence: what happened, where, what to do.
class RunError : public std::runtime_error {
 public:
  RunError(int exit_code, const std::string& sentence)
      : std::runtime_error(sentence), exit_code_(exit_code) {}
  /// That `trainx train` ends with; also what the process ends with if nobody catches this.
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace trainx
