// From arguments to a chosen command: global flags anywhere, --help anywhere, suggestions for near
// misses.
#pragma once
#include "context.hpp"

namespace trainx::app {

/// Fills `context` from the arguments. Help is printed here and leaves a command that does nothing.
/// Throws UserError 2.
void parse_command_line(const std::vector<std::string>& arguments, Context& context);

}  // namespace trainx::app
