#pragma once
#include "data/source.hpp"

namespace trainx::data::text {

/// Files, and all files of folders and their sub-folders by path (names with a leading dot left
/// out), one after the other, as one stream of bytes: sample i is bytes[i*T : i*T+T+1].
std::unique_ptr<Source> open_text(const std::vector<std::string>& paths, const SourceOptions& how);
std::unique_ptr<Vocabulary> make_byte_vocabulary();

}  // namespace trainx::data::text
