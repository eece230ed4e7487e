// All of `trainx` as a function.
#pragma once

namespace trainx::app {

/// Parses the command line, plans, and starts workers for what computes. Exceptions become exit
/// codes here. Returns the exit code; called once in a process.
int trainx_main(int argc, char** argv);

}  // namespace trainx::app
