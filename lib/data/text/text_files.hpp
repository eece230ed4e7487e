#pragma once
#include "data/mapped_file.hpp"
#include "data/source.hpp"

namespace trainx::data::text {

/// Files, and all files of folders and their sub-folders by path (names with a leading dot left
/// out), one after the other, as one stream of bytes: sample i is bytes[i*T : i*T+T+1].
std::unique_ptr<Source> open_text(const std::vector<std::string>& paths, const SourceOptions& how);
/// `name` stands for all of them in sentences.
std::unique_ptr<Source> open_text(std::vector<MappedFile> files, const std::string& name,
                                  const SourceOptions& how);
std::unique_ptr<Vocabulary> make_byte_vocabulary();

}  // namespace trainx::data::text
