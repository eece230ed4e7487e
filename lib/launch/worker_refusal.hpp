#pragma once
#include "core/error.hpp"

namespace trainx::launch {

[[noreturn]] inline void refuse_worker(const std::string& worker, const std::string& sentence) {
  throw UserError(ExitCode::unavailable, "the worker " + worker + " " + sentence);
}

}  // namespace trainx::launch
