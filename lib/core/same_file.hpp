#pragma once
#include <string>

namespace trainx {

/// Whether the path still names the file that is open as `fd`: not where somebody removed or
/// renamed it, or put another in its place.
bool names_file(const std::string& path, int fd);

}  // namespace trainx
