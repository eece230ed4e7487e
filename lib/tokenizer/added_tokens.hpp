#pragma once
#include "tokenizer/normalizer.hpp"
#include "tokenizer/vocabulary.hpp"
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>

namespace trainx::tokenizer {

/// A token that is found in the text before anything else cuts it.
struct AddedToken {
  std::int32_t id = no_id;
  std::string content;
  bool single_word = false;             // only where no letter, digit or mark touches it
  bool lstrip = false, rstrip = false;  // white space beside it is its own
  bool normalized = false;              // looked for in the normalised text, as normalised itself
  bool special = false;                 // left out of decoded text where that is asked for
};

/// Finds the longest of some texts at each place of a text, from left to right.
class TextFinder {
 public:
  void add(const std::string& text, std::size_t value);
  bool empty() const { return nodes_.size() == 1; }
  struct Match {
    std::size_t begin = 0, end = 0, value = 0;
  };
  /// The first match at or behind `from`; false where there is none.
  bool find(std::string_view text, std::size_t from, Match& match) const;

 private:
  static constexpr std::size_t nothing = ~std::size_t{0};
  struct Node {
    std::vector<std::pair<char, std::size_t>> next;
    std::size_t value = nothing;
  };
  std::vector<Node> nodes_{Node{}};
  std::array<std::size_t, 256> first_{};  // node of a text's first byte; 0: none begins so
};

class AddedTokens {
 public:
  /// `normalizer` may be null.
  void add(AddedToken token, const Normalizer* normalizer, MatchSpace& space);
  /// An added token that is looked for in the text as it is becomes its normalized text again.
  void decode_normalized(const std::string& content, const Normalizer* normalizer);
  /// Special tokens inside a text are text.
  void split_special() { splits_special_ = true; }
  /// Null where no added token has the id.
  const AddedToken* by_id(std::int64_t id) const;
  /// As a decoder gets it: normalised where it was looked for so.
  const std::string& decoded(const AddedToken& token) const {
    return decoded_.find(token.id)->second;
  }
  bool is_special(const std::string& content) const { return special_.contains(content); }
  std::int32_t id_of(std::string_view content) const;
  std::int64_t size() const { return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1; }

  /// Calls `token(id)` and `text(begin, end)` for the parts of a text, in order; no part is empty.
  template <class Token, class Text>
  void for_each_part(std::string_view text, bool normalized, Token&& token, Text&& plain) const {
    const TextFinder& finder = normalized ? in_normalized_ : in_raw_;
    std::size_t done = 0;
    TextFinder::Match match;
    for (std::size_t from = 0; !finder.empty() && finder.find(text, from, match);
         from = match.end) {
      const AddedToken& found = *tokens_[match.value];
      std::size_t begin = match.begin, end = match.end;
      if (found.single_word && touches_word(text, begin, end)) continue;
      if (splits_special_ && special_.contains(found.content)) continue;
      if (found.lstrip) begin = std::max(space_before(text, begin), done);
      if (found.rstrip) end = space_behind(text, end);
      if (begin > done) plain(done, begin);
      token(found.id);
      done = end;
    }
    if (done < text.size()) plain(done, text.size());
  }

 private:
  static bool touches_word(std::string_view text, std::size_t begin, std::size_t end);
  static std::size_t space_before(std::string_view text, std::size_t at);
  static std::size_t space_behind(std::string_view text, std::size_t at);

  std::map<std::int64_t, AddedToken> by_id_;
  std::vector<const AddedToken*> tokens_;
  std::map<std::int64_t, std::string> decoded_;
  std::set<std::string> special_;
  TextMap<std::int32_t> ids_;
  TextFinder in_raw_, in_normalized_;
  bool splits_special_ = false;
};

}  // namespace trainx::tokenizer
