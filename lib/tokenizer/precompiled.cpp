#include "tokenizer/precompiled.hpp"
#include "tokenizer/charsmap.hpp"
#include "tokenizer/unicode/graphemes.hpp"
#include "tokenizer/unicode/utf8.hpp"

namespace trainx::tokenizer {
namespace {

/// Builds the changed text, and counts how many of its code points at the front come from the first
/// one of the text that was given: a replacement's code points take the places of those that they
/// replace one by one, further ones that of the last.
class Changed {
 public:
  explicit Changed(const Draft& draft) : from_first_(draft.from_first) {
    text_.reserve(draft.text.size());
  }

  void keep(std::string_view character) {
    text_.append(character);
    place(taken_++);
  }
  void replace(std::string_view old, std::string_view with) {
    const std::size_t before = count_code_points(old), now = count_code_points(with);
    text_.append(with);
    for (std::size_t i = 0; i < now; ++i)
      if (i < before)
        place(taken_++);
      else
        place(taken_ > 0 ? taken_ - 1 : 0);
    // Where nothing stands before them, code points that go leave their place to the next.
    if (now < before && !text_.empty()) taken_ += before - now;
  }
  Draft draft() && { return {std::move(text_), front_}; }

 private:
  void place(std::size_t source) { front_ += source < from_first_ ? 1 : 0; }

  std::string text_;
  std::size_t from_first_, front_ = 0;
  std::size_t taken_ = 0;  // code points of the given text that are done
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap charsmap) : charsmap_(std::move(charsmap)) {}

  void apply(Draft& draft, MatchSpace&) const override {
    const std::string_view text = draft.text;
    Changed changed(draft);
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      end = grapheme_end(text, begin);
      const std::string_view grapheme = text.substr(begin, end - begin);
      // The reference replaces a short grapheme whole, by what its first key becomes: marks behind
      // that key are gone.
      if (grapheme.size() <= longest_whole) {
        if (const auto with = charsmap_.replacement(grapheme)) {
          changed.replace(grapheme, *with);
          continue;
        }
      }
      for (std::size_t at = 0; at < grapheme.size();) {
        const std::string_view character =
            grapheme.substr(at, utf8_length(static_cast<unsigned char>(grapheme[at])));
        at += character.size();
        if (const auto with = charsmap_.replacement(character))
          changed.replace(character, *with);
        else
          changed.keep(character);
      }
    }
    draft = std::move(changed).draft();
  }

 private:
  static constexpr std::size_t longest_whole = 5;  // bytes
  Charsmap charsmap_;
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const Component& c) {
  c.allow({"precompiled_charsmap"});
  return std::make_unique<Precompiled>(
      Charsmap(c.text("precompiled_charsmap"), c.place("precompiled_charsmap")));
}

}  // namespace trainx::tokenizer
