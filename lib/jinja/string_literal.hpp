#pragma once
#include <string>
#include <string_view>

namespace trainx::jinja {

/// What stands between quotes, as Jinja reads it: the escapes of Python. Throws TemplateError.
std::string unescape(std::string_view literal);

}  // namespace trainx::jinja
