#pragma once
#include "jinja/syntax.hpp"
#include <string>

namespace trainx::jinja {

/// Throws TemplateError with the line.
Tree parse(const std::string& source);

}  // namespace trainx::jinja
