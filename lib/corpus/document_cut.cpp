#include "corpus/document_cut.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::corpus {
namespace {

constexpr std::size_t context_bytes = 256;  // on each side of a cut, whose tokens must stay
constexpr std::size_t looked_through = std::size_t{1} << 20, most_tries = 2000;

bool begins_character(std::string_view text, std::size_t at) {
  return (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The tokens around, uncut and cut.
bool changes_nothing(std::string_view document, const Cut& cut, tokenizer::Encoder& encoder) {
  std::size_t first = cut.end - std::min(cut.end, context_bytes),
              last = std::min(document.size(), cut.begin + context_bytes);
  while (first > 0 && !begins_character(document, first)) --first;
  while (last < document.size() && !begins_character(document, last)) ++last;
  tokenizer::Ids whole, parts;
  encoder.append(document.substr(first, last - first), whole);
  encoder.append(document.substr(first, cut.end - first), parts);
  encoder.append(document.substr(cut.begin, last - cut.begin), parts);
  return whole == parts;
}

}  // namespace

Cut find_cut(std::string_view document, std::size_t target, tokenizer::Encoder& encoder,
             const std::string& place) {
  const std::size_t size = document.size();
  if (target >= size) return {size, size};
  if (target == 0) return {0, 0};
  const std::size_t end = std::min(size, target + looked_through);
  // Between words first, where nearly every tokenizer cuts; then anywhere.
  for (const bool between_words : {true, false}) {
    std::size_t tries = 0;
    for (std::size_t at = target; at < end && tries < most_tries; ++at) {
      const bool blank = document[at] == ' ';
      if (!begins_character(document, at) || (document[at] == '\n' && document[at - 1] == '\r'))
        continue;
      if (between_words &&
          !(blank && at + 1 < size && is_letter(document[at - 1]) && is_letter(document[at + 1])))
        continue;
      ++tries;
      if (changes_nothing(document, {at, at}, encoder)) return {at, at};
      if (blank && at + 1 < size && changes_nothing(document, {at, at + 1}, encoder))
        return {at, at + 1};
    }
    if (end == size) return {size, size};  // what is left is short
  }
  throw UserError(ExitCode::bad_data, place + ": behind byte " + std::to_string(target) +
                                          " the text has no place where it can be cut without "
                                          "changing its tokens: break it into lines or documents");
}

void append_document(std::string_view document, tokenizer::Encoder& encoder, tokenizer::Ids& ids,
                     const std::string& place) {
  std::size_t begin = 0;
  while (document.size() - begin > 2 * piece_bytes) {
    const Cut cut = find_cut(document, begin + piece_bytes, encoder, place);
    encoder.append(document.substr(begin, cut.end - begin), ids);
    begin = cut.begin;
  }
  encoder.append(document.substr(begin), ids);
}

}  // namespace trainx::corpus
