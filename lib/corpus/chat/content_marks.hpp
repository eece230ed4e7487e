#pragma once
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::corpus {

/// Marks are code points that no text holds (Unicode 23.7).
inline const std::string begin_mark = "\xEF\xB7\x90", end_mark = "\xEF\xB7\x91";
/// Is there one in a text?
bool has_marks(const std::string& text);

/// Puts the mark of a message behind what it says: its content, its thought, or the name of its
/// last call. False: there is nothing to put it behind.
bool add_mark(nlohmann::ordered_json& message, std::size_t number);

/// A text without marks, and where they stood, by the number of the message. A template may write
/// what a message says again elsewhere, as the name of a call beside its result: the first place
/// behind that of the message before counts.
struct Unmarked {
  std::string text;
  std::map<std::size_t, std::size_t> places;
};
Unmarked without_marks(const std::string& text);

}  // namespace trainx::corpus
