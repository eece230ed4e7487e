#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trainx {

/// Whether a file is what git-lfs leaves in the place of one that was not fetched.
bool is_git_lfs_pointer(std::string_view text);
/// Throws UserError 65 if it is.
void refuse_git_lfs_pointer(std::span<const std::byte> bytes, const std::string& path);

}  // namespace trainx
