// What the reference (Hugging Face's tokenizers) holds each code point to be. tables.cpp is made by
// scripts/make_unicode_tables, which says why.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace trainx::tokenizer {

struct CodePointRange {
  std::uint32_t first, last;
};
/// General category of the code points from `first` to the next run: an index of `category_names`.
struct CategoryRun {
  std::uint32_t first;
  std::uint8_t category;
};
/// A code point in lower case: one or two (0: just one).
struct Lowered {
  std::uint32_t from, to, second;
};
/// Beside a lower-case ASCII letter, what patterns without case take for it.
struct Folded {
  std::uint32_t code_point;
  char letter;
};

constexpr std::array<std::string_view, 30> category_names{
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

enum class CodePointClass : std::uint8_t {
  onig_space,
  onig_word,  // \s and \w of patterns in a file
  script_han,
  script_hiragana,
  script_katakana,
  script_hangul,
  script_latin,
  script_greek,
  script_cyrillic,
  script_arabic,
  script_hebrew,
  script_thai,
  script_devanagari,
  space,
  punctuation,
  numeric,  // of pre-tokenizers
  word,     // of Whitespace and of added tokens that are single words
  bert_removed,
  bert_space,
  bert_chinese,
  nonspacing_mark,
  combining_mark,  // stripped by BertNormalizer, by StripAccents
  // utf8proc's newer tables decompose or reorder them, the reference does not
  inert,
  // of graphemes (UAX #29): what joins the character before it, the one behind it, and none
  grapheme_extend,
  grapheme_prepend,
  grapheme_control,
  pictographic,
  indic_consonant,
  indic_linker,  // joins two consonants, with any of indic_extend around it
  indic_extend,
};

std::span<const CodePointRange> ranges_of(CodePointClass which);
/// Sorted; of all code points.
std::span<const CategoryRun> category_runs();
std::span<const Lowered> lowered();
std::span<const Folded> case_folds();

}  // namespace trainx::tokenizer
