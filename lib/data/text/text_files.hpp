#pragma once
#include "data/source.hpp"

namespace trainx::data::text {

/// A file, or all files of a folder and its sub-folders by path (names with a leading dot left out), one after the other, as bytes:
/// sample i is bytes[i*T : i*T+T+1]. Null where the split names nothing.
std::unique_ptr<Source> open_text(const spec::TextOptions& options, Split split, const SourceOptions& how);
std::unique_ptr<Vocabulary> make_byte_vocabulary();

}  // namespace trainx::data::text
