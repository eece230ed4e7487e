#include "data/stories/check.hpp"
#include "core/error.hpp"
#include "data/stories/grammar.hpp"
#include "data/stories/sample.hpp"

namespace trainx::data::stories {

StoryReport check_story(std::span<const std::int32_t> tokens) {
  const Grammar& grammar = Grammar::english();
  const std::int32_t full_stop = grammar.find(".");
  StoryReport report;
  report.tokens = static_cast<std::int64_t>(tokens.size());
  Position at = grammar.start();
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= static_cast<std::int32_t>(grammar.words().size())) {
      report.problem = "token id " + std::to_string(token) + " is no word";
      return report;
    }
    const std::string& word = grammar.words()[static_cast<std::size_t>(token)];
    if (!grammar.advance(at, token)) {
      std::vector<Choice> choices;
      grammar.choices(at, choices);
      report.problem = "word " + std::to_string(report.accepted + 1) + ", '" + word +
                       "', may not stand there; '" +
                       grammar.words()[static_cast<std::size_t>(choices.front().token)] + "' might";
      return report;
    }
    ++report.accepted;
    if (token == full_stop) ++report.sentences;
    if (token == grammar.end_of_story()) ++report.stories;
  }
  return report;
}

StoryReport check_story_text(std::string_view text) {
  try {
    return check_story(make_stories_vocabulary()->encode(text));
  } catch (const UserError& e) {
    StoryReport report;
    report.problem = e.what();
    return report;
  }
}

bool is_story_text(std::string_view text) { return check_story_text(text).ok(); }

}  // namespace trainx::data::stories
