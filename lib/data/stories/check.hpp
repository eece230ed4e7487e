#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainx::data::stories {

/// How far a text follows the grammar.
struct StoryReport {
  std::int64_t tokens = 0;     // looked at
  std::int64_t accepted = 0;   // before the first that may not stand where it does
  std::int64_t sentences = 0;  // of the accepted
  std::int64_t stories = 0;    // ended among the accepted
  std::string problem;         // empty: all accepted
  bool ok() const { return problem.empty(); }
};

/// Follows the grammar from a story's beginning; a text may stop anywhere.
StoryReport check_story(std::span<const std::int32_t> tokens);
/// The same from text. A word that is not in the vocabulary is a problem too.
StoryReport check_story_text(std::string_view text);
/// Whether all of a text, which may stop anywhere, is of the grammar, agreement included.
bool is_story_text(std::string_view text);

}  // namespace trainx::data::stories
