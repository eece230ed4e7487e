// --nproc-per-node and its like: how many workers a command starts, and where; --max-restarts.
#pragma once
#include "launch/launch_flags.hpp"
#include <CLI/CLI.hpp>

namespace trainx::app {

void add_launch_options(CLI::App& command, launch::LaunchFlags& flags);
void add_restart_option(CLI::App& command, launch::LaunchFlags& flags);

}  // namespace trainx::app
