#include "tokenizer/unicode/graphemes.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace trainx::tokenizer {
namespace {

enum class Hangul : std::uint8_t { none, l, v, t, lv, lvt };

Hangul hangul_of(std::uint32_t c) {
  const auto in = [&](std::uint32_t first, std::uint32_t last) { return c >= first && c <= last; };
  if (in(0x1100, 0x115f) || in(0xa960, 0xa97c)) return Hangul::l;
  if (in(0x1160, 0x11a7) || in(0xd7b0, 0xd7c6)) return Hangul::v;
  if (in(0x11a8, 0x11ff) || in(0xd7cb, 0xd7fb)) return Hangul::t;
  if (in(0xac00, 0xd7a3)) return (c - 0xac00) % 28 == 0 ? Hangul::lv : Hangul::lvt;
  return Hangul::none;
}

/// Rules GB6 to GB8.
bool syllable_goes_on(Hangul before, Hangul after) {
  switch (before) {
    case Hangul::l: return after != Hangul::none && after != Hangul::t;
    case Hangul::lv:
    case Hangul::v: return after == Hangul::v || after == Hangul::t;
    case Hangul::lvt:
    case Hangul::t: return after == Hangul::t;
    case Hangul::none: return false;
  }
  return false;
}

struct Classes {
  const CodePointSet &control = set_of(CodePointClass::grapheme_control),
                     &extend = set_of(CodePointClass::grapheme_extend),
                     &prepend = set_of(CodePointClass::grapheme_prepend),
                     &pictographic = set_of(CodePointClass::pictographic),
                     &consonant = set_of(CodePointClass::indic_consonant),
                     &linker = set_of(CodePointClass::indic_linker),
                     &indic_extend = set_of(CodePointClass::indic_extend);
};

const Classes& classes() {
  static const Classes all;
  return all;
}

constexpr std::uint32_t zero_width_joiner = 0x200d;

bool is_flag_letter(std::uint32_t c) { return c >= 0x1f1e6 && c <= 0x1f1ff; }

/// What the rules ask about the code points of a grapheme so far.
class Cluster {
 public:
  explicit Cluster(std::uint32_t first) { take(first); }

  bool joined_by(std::uint32_t c) const {
    if (last_ == '\r' && c == '\n') return true;
    if (is_.control.contains(last_) || is_.control.contains(c)) return false;
    if (syllable_goes_on(hangul_of(last_), hangul_of(c))) return true;
    if (is_.extend.contains(c) || is_.prepend.contains(last_)) return true;
    if (linked_ && is_.consonant.contains(c)) return true;
    if (last_ == zero_width_joiner && pictograph_ && is_.pictographic.contains(c)) return true;
    return flag_letters_ % 2 == 1 && is_flag_letter(c);
  }

  void take(std::uint32_t c) {
    flag_letters_ = is_flag_letter(c) ? flag_letters_ + 1 : 0;
    pictograph_ = is_.pictographic.contains(c) || (pictograph_ && is_.extend.contains(c));
    if (is_.consonant.contains(c)) {
      consonant_ = true;
      linked_ = false;
    } else if (consonant_ && is_.linker.contains(c)) {
      linked_ = true;
    } else if (!is_.indic_extend.contains(c)) {
      consonant_ = linked_ = false;
    }
    last_ = c;
  }

 private:
  const Classes& is_ = classes();
  std::uint32_t last_ = 0;
  std::size_t flag_letters_ = 0;  // regional indicators at its end
  bool pictograph_ = false;       // with nothing behind it but what extends it
  bool consonant_ = false;        // an Indic one, with nothing behind it but linkers and extenders
  bool linked_ = false;           // ... of which one is a linker
};

bool is_ascii_but_return(char c) { return static_cast<unsigned char>(c) < 0x80 && c != '\r'; }

}  // namespace

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  // What follows ASCII joins it unless it is ASCII too.
  if (is_ascii_but_return(text[begin]) &&
      (begin + 1 == text.size() || static_cast<unsigned char>(text[begin + 1]) < 0x80))
    return begin + 1;
  std::size_t end = begin;
  Cluster cluster(next_code_point(text, end));
  for (std::size_t next = end; end < text.size(); end = next) {
    const std::uint32_t c = next_code_point(text, next);
    if (!cluster.joined_by(c)) break;
    cluster.take(c);
  }
  return end;
}

}  // namespace trainx::tokenizer
