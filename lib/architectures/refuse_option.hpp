#pragma once
#include "core/error.hpp"
#include <string>

namespace trainx::architectures {

/// Throws UserError 78 about a key of model.options, with which the sentence begins.
[[noreturn]] inline void refuse_option(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model.options." + sentence);
}

}  // namespace trainx::architectures
