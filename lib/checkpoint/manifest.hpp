#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace trainx::checkpoint {

/// manifest.json: what a checkpoint's folder holds. Written last, so that a folder with one was
/// complete.
struct Manifest {
  struct File {
    std::int64_t bytes = 0;
    std::string hash;  // XXH3, 128 bits, in hexadecimal
    bool operator==(const File&) const = default;
  };
  std::int64_t step = 0;
  std::map<std::string, File> files;
};
constexpr const char* manifest_name = "manifest.json";

/// A file of a folder, or of a folder in it: names that begin with a dot, or lead elsewhere, are
/// none.
bool is_file_name(const std::string& name);
std::string to_json(const Manifest& manifest);
/// Throws UserError 65 where the text is not a manifest that this trainx wrote or can read; `path`
/// is for the sentence.
Manifest parse_manifest(const std::string& text, const std::string& path);

}  // namespace trainx::checkpoint
