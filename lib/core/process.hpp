// This process and the machine it runs on.
#pragma once
#include <string>

namespace trainx {

/// Path of the running binary.
std::string executable_path();
std::string host_name();
/// An environment variable, empty where it is not set.
std::string environment_variable(const char* name);
/// "Terminated", "Killed", ...
std::string signal_name(int signal);
/// Now, UTC, ISO 8601: "2026-01-31T09:30:00Z".
std::string utc_time();
bool is_utf8(const std::string& text);

}  // namespace trainx
