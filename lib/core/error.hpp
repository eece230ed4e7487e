// The errors that trainx throws and the exit codes that users see.
#pragma once
#include <stdexcept>
#include <string>

namespace trainx {

/// Exit codes of `trainx`, as scripts rely on them (128 + n: ended by signal n).
enum class ExitCode : int {
  ok = 0,
  bug = 1,
  usage = 2,
  bad_data = 65,  // file and offset
  input_missing = 66,
  unavailable = 69,     // device, driver or library
  out_of_memory = 71,   // which, by how much, what to change
  cannot_create = 73,   // output folder locked or cannot be made
  io_error = 74,        // persisted
  stopped_early = 75,   // with a checkpoint: run again
  invalid_recipe = 78,  // or changed for an existing run
  not_as_asked = 79,
  diverged = 80,
  hang = 81,
  peer_lost = 82,
  no_checkpoint = 83,
};

/// Something the user can mend. `what()` is one sentence: what happened, where, what to do. main
/// prints it and exits with `code`.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode code, const std::string& sentence)
      : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A broken promise inside trainx: a bug. main prints it with a request to report it and exits
/// with 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace trainx
