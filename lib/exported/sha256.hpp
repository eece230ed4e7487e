#pragma once
#include <string>

namespace trainx::exported {

/// SHA-256 of a regular file's contents in hexadecimal. Throws UserError: 66 missing, 74
/// unreadable.
std::string sha256_of_file(const std::string& path);

}  // namespace trainx::exported
