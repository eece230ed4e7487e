#pragma once
#include "core/error.hpp"
#include "comm/failure.hpp"

namespace trainx::comm {

/// The run has failed on another rank. `code()` is what this rank ends with, `cause()` what the run
/// ends with: the code of the rank that failed first, where it told one.
class FailedElsewhere : public UserError {
 public:
  explicit FailedElsewhere(const Failure& failure)
      : UserError(failure.code, failure.sentence), cause_(failure.cause) {}
  ExitCode cause() const { return cause_; }

 private:
  ExitCode cause_;
};

}  // namespace trainx::comm
