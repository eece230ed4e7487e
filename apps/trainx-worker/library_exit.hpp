#pragma once
#include "core/error.hpp"
#include <string>

namespace trainx::worker {

/// Where a library ends the process by exit(), as OpenMP's does when it cannot start its threads:
/// tells why, and ends at once with 71 or 1. Other threads may use what exit() would destroy.
void watch_for_library_exit();
/// Tells people, without waiting for other threads or destroying what they use.
[[noreturn]] void end_at_once(ExitCode code, const std::string& sentence);
/// Where an exception ends the process that no thread of a library catches: memory or threads that
/// are not to be had end it with a sentence and 71, and not by SIGABRT.
void watch_for_uncaught();
/// The process ends by itself from here on.
void expect_exit();

}  // namespace trainx::worker
