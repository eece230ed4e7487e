#pragma once
#include <string>
#include <vector>

namespace trainx::doctor {

using namespace facts;

/// What a program said.
struct ProgramOutput {
  bool started = false, in_time = true;
  int exit_code = -1;  // 128 + n: ended by signal n
  std::string out, err;
  // one phrase where it did not end well: "it did not answer within 10 s"
  std::string problem;
  bool fine() const { return started && in_time && exit_code == 0; }
};

/// Runs `program`, a path, with nothing on stdin and `environment` ("NAME=value") added to this
/// process's own; kills it after `seconds`.
ProgramOutput run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, double seconds);

}  // namespace trainx::doctor
