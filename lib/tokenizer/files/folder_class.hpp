#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::tokenizer {

/// The tokenizer class of a folder, as AutoTokenizer of transformers finds it.
struct FolderClass {
  std::string name;       // without "Fast"; TokenizersBackend takes a tokenizer.json as it is
  bool is_named = false;  // tokenizer_config.json or config.json says it
};

constexpr const char* backend_class = "TokenizersBackend";

/// `has_byte_level`: whether the folder's tokenizer.json names the part ByteLevel. Throws UserError
/// 65, also for a class whose code lies in the folder.
FolderClass class_of_folder(const std::string& folder, bool has_byte_level);

}  // namespace trainx::tokenizer
