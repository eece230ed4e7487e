#pragma once
#include "tokenizer/files/class_document.hpp"
#include "tokenizer/files/folder_class.hpp"
#include <string>

namespace trainx::tokenizer {

/// The files of vocabularies, in the order in which a folder is searched.
std::string find_vocabulary(const std::string& folder);

/// A folder's tokenizer, or that of a file in it: its class, and what the files say.
struct FolderVocabulary {
  std::string file;
  const ClassDefinition* definition = nullptr;  // null: TokenizersBackend
  bool stands_alone = false;                    // no class is named: the file is read by itself
  nlohmann::json json = {};                     // tokenizer.json, where it is the file
};

/// `file`: empty for that which the class reads. Throws UserError: 66 missing, 65 a class or a file
/// that trainx does not read.
FolderVocabulary look_at_vocabulary(const std::string& folder, const std::string& file);
/// Of a vocabulary that does not stand alone. Throws UserError 65 or 66.
ClassDocument read_folder_document(FolderVocabulary vocabulary);

}  // namespace trainx::tokenizer
