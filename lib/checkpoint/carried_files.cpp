#include "checkpoint/carried_files.hpp"
#include "core/files.hpp"
#include <filesystem>

namespace trainx::checkpoint {

std::map<std::string, std::string> read_carried_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "vocab.txt", "special_tokens_map.json", "added_tokens.json",
                           "generation_config.json"}) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) files[name] = read_file(path);
  }
  return files;
}

}  // namespace trainx::checkpoint
