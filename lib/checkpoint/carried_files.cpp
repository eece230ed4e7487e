#include "checkpoint/carried_files.hpp"
#include "core/adapter_base.hpp"
#include "core/files.hpp"
#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

namespace trainx::checkpoint {
namespace {

// of a file; the largest known tokenizers have a tenth of it
constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
constexpr std::array settings{"tokenizer_config.json", "special_tokens_map.json",
                              "added_tokens.json"};
constexpr std::array vocabularies{"tokenizer.json",
                                  "vocab.json",
                                  "merges.txt",
                                  "vocab.txt",
                                  "tokenizer.model",
                                  "spiece.model",
                                  "sentencepiece.bpe.model"};

// How conversations are written, what processors of images and sounds need, and the licence.
constexpr std::array along{"chat_template.jinja",
                           "chat_template.json",
                           "preprocessor_config.json",
                           "processor_config.json",
                           "video_preprocessor_config.json",
                           "LICENSE",
                           "LICENSE.txt",
                           "LICENSE.md",
                           "LICENCE",
                           "COPYING",
                           "NOTICE",
                           "NOTICE.txt",
                           "USE_POLICY.md"};
constexpr const char* more_templates = "additional_chat_templates";

void add_files(const std::string& folder, std::span<const char* const> names,
               std::map<std::string, std::string>& files) {
  for (const char* name : names) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) files[name] = read_file(path, most_bytes);
  }
}

/// Templates by their names, as transformers keeps those beside the default one.
void add_templates(const std::string& folder, std::map<std::string, std::string>& files) {
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder + "/" + more_templates, none)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".jinja" && !name.starts_with('.') && entry.is_regular_file())
      files[std::string(more_templates) + "/" + name] =
          read_file(entry.path().string(), most_bytes);
  }
}

}  // namespace

std::map<std::string, std::string> read_carried_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  if (is_adapter_folder(folder) && !adapts_new_weights(folder))
    files = read_carried_files(model_folder_of(folder));
  add_files(folder, settings, files);
  add_files(folder, vocabularies, files);
  add_files(folder, along, files);
  add_templates(folder, files);
  // of a model of the user's own: buffers that its modules change
  add_files(folder, std::array{"generation_config.json", "buffers.safetensors"}, files);
  // of a model that scripts/trainx-export wrote
  add_files(folder, std::array{"graph.json", "constants.safetensors"}, files);
  return files;
}

std::map<std::string, std::string> read_tokenizer_files(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string name = path.filename().string(), ending = path.extension().string();
  std::map<std::string, std::string> files;
  add_files(folder_of(file), settings, files);
  add_files(folder_of(file), std::array{"chat_template.jinja"}, files);
  add_templates(folder_of(file), files);
  if (name == "vocab.json" || name == "merges.txt")
    add_files(folder_of(file), std::array{"vocab.json", "merges.txt"}, files);
  else if (std::ranges::find(vocabularies, name) != vocabularies.end())
    files[name] = read_file(file, most_bytes);
  else
    files[ending == ".model" ? "tokenizer.model"
          : ending == ".txt" ? "vocab.txt"
                             : "tokenizer.json"] = read_file(file, most_bytes);
  return files;
}

}  // namespace trainx::checkpoint
