#include "tokenizer/added_tokens.hpp"

namespace trainx::tokenizer {

void TextFinder::add(const std::string& text, std::size_t value) {
  std::size_t node = 0;
  for (const char c : text) {
    const auto found =
        std::ranges::find(nodes_[node].next, c, &std::pair<char, std::size_t>::first);
    if (found != nodes_[node].next.end()) {
      node = found->second;
      continue;
    }
    nodes_[node].next.emplace_back(c, nodes_.size());
    if (node == 0) first_[static_cast<unsigned char>(c)] = nodes_.size();
    node = nodes_.size();
    nodes_.emplace_back();
  }
  nodes_[node].value = value;
}

bool TextFinder::find(std::string_view text, std::size_t from, Match& match) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    std::size_t node = first_[static_cast<unsigned char>(text[begin])];
    if (node == 0) continue;
    bool found = false;
    for (std::size_t at = begin + 1;; ++at) {
      if (nodes_[node].value != nothing) {
        match = {begin, at, nodes_[node].value};
        found = true;
      }
      if (at == text.size()) break;
      const auto next =
          std::ranges::find(nodes_[node].next, text[at], &std::pair<char, std::size_t>::first);
      if (next == nodes_[node].next.end()) break;
      node = next->second;
    }
    if (found) return true;
  }
  return false;
}

void AddedTokens::add(AddedToken token, const Normalizer* normalizer, MatchSpace& space) {
  Draft draft{token.content};
  if (token.normalized && normalizer) normalizer->apply(draft, space);
  const std::string& looked_for = draft.text;
  const AddedToken& kept = by_id_[token.id] = token;
  tokens_.push_back(&kept);
  decoded_[token.id] = looked_for;
  ids_[token.content] = token.id;
  if (token.special) special_.insert(token.content);
  if (!looked_for.empty())
    (token.normalized ? in_normalized_ : in_raw_).add(looked_for, tokens_.size() - 1);
}

void AddedTokens::decode_normalized(const std::string& content, const Normalizer* normalizer) {
  const std::int32_t id = id_of(content);
  if (id == no_id || !normalizer) return;
  Draft draft{content};
  MatchSpace space;
  normalizer->apply(draft, space);
  decoded_[id] = draft.text;
}

const AddedToken* AddedTokens::by_id(std::int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

std::int32_t AddedTokens::id_of(std::string_view content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? no_id : found->second;
}

namespace {

/// The code point that ends before `at`, and where it begins.
std::pair<std::uint32_t, std::size_t> code_point_before(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while ((static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
  std::size_t next = begin;
  return {next_code_point(text, next), begin};
}

}  // namespace

bool AddedTokens::touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  const CodePointSet& word = set_of(CodePointClass::word);
  if (begin > 0 && word.contains(code_point_before(text, begin).first)) return true;
  return end < text.size() && word.contains(next_code_point(text, end));
}

std::size_t AddedTokens::space_before(std::string_view text, std::size_t at) {
  const CodePointSet& space = set_of(CodePointClass::space);
  while (at > 0) {
    const auto [c, begin] = code_point_before(text, at);
    if (!space.contains(c)) break;
    at = begin;
  }
  return at;
}

std::size_t AddedTokens::space_behind(std::string_view text, std::size_t at) {
  const CodePointSet& space = set_of(CodePointClass::space);
  for (std::size_t next = at; at < text.size(); at = next)
    if (!space.contains(next_code_point(text, next))) break;
  return at;
}

}  // namespace trainx::tokenizer
