#pragma once
#include <string>
#include <vector>

namespace trainx::worker {

/// What a program with a loop of its own starts `trainx` with.
struct LauncherCommand {
  std::string built_with;  // the package's trainx; may be empty
  std::string recipe;
  std::vector<std::string> settings;
  std::vector<std::string> arguments;  // the program's own
};

/// Becomes `trainx train`, which starts this program again as its workers. Throws UserError 69 if
/// there is none.
[[noreturn]] void start_launcher(const LauncherCommand& command);

/// The program's own arguments, in the worker; empty if trainx was started by hand.
std::vector<std::string> handed_arguments();

}  // namespace trainx::worker
