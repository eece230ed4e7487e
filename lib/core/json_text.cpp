#include "core/json_text.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/git_lfs.hpp"

namespace trainx {

void check_json_text(std::string_view text, const std::string& path) {
  const auto refuse = [&](std::size_t at, const std::string& what) {
    throw UserError(ExitCode::bad_data, path + " " + what + " (byte " + std::to_string(at) + ")");
  };
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos)
    refuse(at, "has a NUL, which no JSON has");
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      if (++depth > deepest_json)
        refuse(i, "nests deeper than " + std::to_string(deepest_json) + " levels");
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      while (++i < text.size() && text[i] != '"')
        if (text[i] == '\\') ++i;  // the next character belongs to the escape
    }
  }
}

std::string read_json_text(const std::string& path, std::int64_t most_bytes) {
  std::string text = read_file(path, most_bytes);
  refuse_git_lfs_pointer(std::as_bytes(std::span(text)), path);
  check_json_text(text, path);
  return text;
}

}  // namespace trainx
