#include "corpus/masked_sample.hpp"
#include "corpus/around.hpp"
#include "corpus/document_cut.hpp"
#include "data/source.hpp"
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace trainx::corpus {
namespace {

using tokenizer::Ids;

/// How many tokens lie before a byte of the text, and whether one lies on both sides of it.
struct Boundary {
  std::size_t tokens = 0;
  bool cuts_token = false;
};

/// Where the text before the byte has tokens of its own (both sides of it make up a word), what the
/// first tokens decode to says how far they reach. Places are those in what all tokens decode to,
/// which may be another text: SentencePiece's sign of a blank becomes a blank.
Boundary boundary(const std::string& text, std::size_t byte, const Ids& ids,
                  const tokenizer::Tokenizer& tokenizer, tokenizer::Encoder& encoder,
                  const std::string& place) {
  constexpr std::size_t most_tokens = 256;  // of a word, behind those that both have
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  if (byte >= text.size()) return {ids.size(), false};
  Ids before;
  append_document(std::string_view(text).substr(0, byte), encoder, before, place);
  const auto [differs, other] = std::ranges::mismatch(before, ids);
  Boundary out{static_cast<std::size_t>(differs - before.begin()), differs != before.end()};
  if (!out.cuts_token) return out;
  const std::string all = tokenizer.decode(ids, false), start = tokenizer.decode(before, false);
  const bool begins_so = all.starts_with(start);
  const std::string_view known = begins_so ? all : text;
  const std::size_t place_of_end = begins_so ? start.size() : byte;
  const std::size_t first = out.tokens, last = std::min(ids.size(), first + most_tokens);
  for (std::size_t tokens = first; out.cuts_token && tokens <= last; ++tokens) {
    const std::string decoded = tokenizer.decode(std::span(ids).first(tokens), false);
    if (decoded.size() > place_of_end + 8) break;
    // An end inside a character decodes to U+FFFD. The place is where a character begins: a token
    // that ends inside one before it ends before it.
    std::string_view whole = decoded;
    while (!known.starts_with(whole) && whole.ends_with(replacement))
      whole.remove_suffix(replacement.size());
    const bool inside = whole.size() < decoded.size();
    if (!known.starts_with(whole) || whole.size() > place_of_end ||
        (inside && whole.size() == place_of_end))
      continue;
    out = {tokens, whole.size() < place_of_end};
  }
  return out;
}

}  // namespace

MaskedSample masked_tokens(const MaskedText& masked, const tokenizer::Tokenizer& tokenizer,
                           tokenizer::Encoder& encoder, const std::string& place) {
  MaskedSample out;
  append_document(masked.text, encoder, out.ids, place);
  out.labels.assign(out.ids.size(), data::no_target);
  for (const TextSpan& span : masked.learned) {
    if (span.begin == span.end) continue;
    const Boundary begin = boundary(masked.text, span.begin, out.ids, tokenizer, encoder, place),
                   end = boundary(masked.text, span.end, out.ids, tokenizer, encoder, place);
    const std::size_t last = std::min(end.tokens + (end.cuts_token ? 1 : 0), out.ids.size());
    for (std::size_t i = begin.tokens; i < last; ++i) out.labels[i] = out.ids[i];
  }
  return out;
}

MaskedSample completion_sample(const std::string& prompt, const std::string& completion,
                               const tokenizer::Tokenizer& tokenizer, bool special,
                               std::int32_t end_of_text, tokenizer::Encoder& encoder,
                               const std::string& place) {
  MaskedText text{prompt + completion, {{prompt.size(), prompt.size() + completion.size()}}};
  MaskedSample inner = masked_tokens(text, tokenizer, encoder, place);
  // What the tokenizer puts before a text has no labels, what it puts behind is learned.
  auto [before, behind] = Around(tokenizer, special);
  MaskedSample out;
  out.ids = std::move(before);
  out.labels.assign(out.ids.size(), data::no_target);
  out.ids.insert(out.ids.end(), inner.ids.begin(), inner.ids.end());
  out.labels.insert(out.labels.end(), inner.labels.begin(), inner.labels.end());
  if (end_of_text >= 0 && (behind.empty() ? inner.ids.empty() || inner.ids.back() != end_of_text
                                          : behind.back() != end_of_text))
    behind.push_back(end_of_text);
  out.ids.insert(out.ids.end(), behind.begin(), behind.end());
  out.labels.insert(out.labels.end(), behind.begin(), behind.end());
  return out;
}

}  // namespace trainx::corpus
