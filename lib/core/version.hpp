#pragma once
#include <string_view>

namespace trainx {
constexpr std::string_view version = "0.1.0";  // a test holds it against CMakeLists.txt
}  // namespace trainx
