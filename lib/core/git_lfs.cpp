#include "core/git_lfs.hpp"
#include "core/error.hpp"

namespace trainx {

bool is_git_lfs_pointer(std::string_view text) {
  return text.starts_with("version https://git-lfs.github.com/spec/");
}

void refuse_git_lfs_pointer(std::span<const std::byte> bytes, const std::string& path) {
  if (is_git_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    throw UserError(ExitCode::bad_data,
                    path +
                        " is a git-lfs pointer, not the file itself: fetch it with `git lfs pull`, "
                        "or download the file");
}

}  // namespace trainx
