#include "core/error.hpp"
#include "data/stories/grammar.hpp"
#include "data/stories/sample.hpp"
#include <algorithm>
#include <numeric>

namespace trainx::data::stories {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_punctuation(char c) { return c == '.' || c == ','; }

/// Insertions, deletions and replacements that turn one word into the other (Levenshtein 1966).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// Words with spaces between, none before punctuation; a blank line ends a story.
class StoriesVocabulary final : public Vocabulary {
 public:
  std::int64_t size() const override { return static_cast<std::int64_t>(grammar_.words().size()); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      if (is_space(text[at])) {
        while (end < text.size() && is_space(text[end])) ++end;
        if (std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                       text.begin() + static_cast<std::ptrdiff_t>(end), '\n') > 1)
          ids.push_back(grammar_.end_of_story());
      } else {
        do ++end;
        while (!is_punctuation(text[at]) && end < text.size() && !is_space(text[end]) &&
               !is_punctuation(text[end]));
        ids.push_back(id_of(text.substr(at, end - at)));
      }
      at = end;
    }
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= size())
        throw InternalError("stories: token id " + std::to_string(id) + " is no word");
      const std::string& word = grammar_.words()[static_cast<std::size_t>(id)];
      if (id == grammar_.end_of_story()) {
        text += "\n\n";
      } else {
        if (!text.empty() && text.back() != '\n' && !is_punctuation(word[0])) text += ' ';
        text += word;
      }
    }
    return text;
  }

 private:
  std::int32_t id_of(std::string_view word) const {
    const std::int32_t id = grammar_.find(word);
    if (id >= 0 && id != grammar_.end_of_story()) return id;
    const auto nearest = std::min_element(grammar_.words().begin() + 1, grammar_.words().end(),
                                          [&](const std::string& a, const std::string& b) {
                                            return edit_distance(word, a) < edit_distance(word, b);
                                          });
    throw UserError(ExitCode::bad_data, "'" + std::string(word) + "' is not among the " +
                                            std::to_string(size()) +
                                            " words of stories (did you mean '" + *nearest + "'?)");
  }

  const Grammar& grammar_ = Grammar::english();
};

}  // namespace

std::unique_ptr<Vocabulary> make_stories_vocabulary() {
  return std::make_unique<StoriesVocabulary>();
}

}  // namespace trainx::data::stories
