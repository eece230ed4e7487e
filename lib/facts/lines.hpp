// A section's text for people.
#pragma once
#include "facts/unread.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::facts {

using Lines = std::vector<std::string>;

/// "a, b, c" of those that are not empty.
std::string joined(const std::vector<std::string>& parts, const std::string& between = ", ");
/// "1 core", "2 cores".
std::string counted(std::int64_t n, const std::string& what);
/// What could not be read and why, a line each.
void add_unread(Lines& lines, const Unread& unread);

}  // namespace trainx::facts
