#include "tokenizer/bpe/bpe.hpp"
#include "core/error.hpp"
#include "tokenizer/bpe/merge_word.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"
#include <cstdio>

namespace trainx::tokenizer {

Bpe::Bpe(VocabularyTable vocabulary, std::size_t merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), merges_(merges), options_(std::move(options)) {
  if (!options_.unk_token.empty()) unk_ = vocabulary_.id_of(options_.unk_token);
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character_of_byte(static_cast<unsigned char>(byte)), character);
    byte_ids_[static_cast<std::size_t>(byte)] = vocabulary_.id_of(character);
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    fallback_ids_[static_cast<std::size_t>(byte)] = vocabulary_.id_of(name);
  }
  plain_bytes_ = options_.as_bytes && options_.continuing_subword_prefix.empty() &&
                 options_.end_of_word_suffix.empty() && !options_.byte_fallback;
  if (!options_.as_bytes || !options_.ignore_merges) return;
  for (std::int64_t id = 0; id < vocabulary_.size(); ++id) {
    if (!vocabulary_.has(id)) continue;
    if (auto bytes = from_byte_alphabet(vocabulary_.token_of(id)))
      whole_.emplace(std::move(*bytes), static_cast<std::int32_t>(id));
  }
}

Bpe::MergedPair Bpe::merged(const Merges::value_type& merge) const {
  const auto& [left, right] = merge;
  const auto unknown = [](const std::string& token) {
    return "names the token " + yaml::excerpt(token) + ", which the vocabulary does not have";
  };
  MergedPair out{vocabulary_.id_of(left), vocabulary_.id_of(right), no_id, ""};
  const std::string& prefix = options_.continuing_subword_prefix;
  if (out.left == no_id)
    out.problem = unknown(left);
  else if (out.right == no_id)
    out.problem = unknown(right);
  else if (!right.starts_with(prefix))
    out.problem = "continues with " + yaml::excerpt(right) + ", which lacks the prefix " +
                  yaml::excerpt(prefix);
  if (!out.problem.empty()) return out;
  const std::string together = left + right.substr(prefix.size());
  out.id = vocabulary_.id_of(together);
  if (out.id == no_id)
    out.problem = "makes the token " + yaml::excerpt(together) +
                  ", which the vocabulary does not have";
  return out;
}

void Bpe::refuse(const std::string& place, const std::string& problem) {
  throw UserError(ExitCode::bad_data, place + " " + problem);
}

void Bpe::append_characters(std::string_view piece, std::vector<std::int32_t>& symbols) const {
  // the last symbol is to be an unknown one, which those behind it may join
  bool unknown = false;
  std::string with_affixes;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at,
                      end = begin + utf8_length(static_cast<unsigned char>(piece[begin]));
    at = end;
    std::string_view symbol = piece.substr(begin, end - begin);
    const bool continues = begin > 0 && !options_.continuing_subword_prefix.empty(),
               ends = end == piece.size() && !options_.end_of_word_suffix.empty();
    if (continues || ends) {
      with_affixes = (continues ? options_.continuing_subword_prefix : "") + std::string(symbol) +
                     (ends ? options_.end_of_word_suffix : "");
      symbol = with_affixes;
    }
    const std::int32_t id = vocabulary_.id_of(symbol);
    if (id != no_id) {
      if (unknown) symbols.push_back(unk_);
      unknown = false;
      symbols.push_back(id);
      continue;
    }
    if (options_.byte_fallback) {
      bool all = true;
      for (const char c : symbol)
        all = all && fallback_ids_[static_cast<unsigned char>(c)] != no_id;
      // An unknown character before these bytes comes after them: the reference's order.
      if (all) {
        for (const char c : symbol) symbols.push_back(fallback_ids_[static_cast<unsigned char>(c)]);
        continue;
      }
    }
    if (unk_ == no_id) continue;
    if (unknown && !options_.fuse_unk) symbols.push_back(unk_);
    unknown = true;
  }
  if (unknown) symbols.push_back(unk_);
}

void Bpe::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (options_.ignore_merges) {
    const auto found = options_.as_bytes ? whole_.find(piece) : whole_.end();
    const std::int32_t id = options_.as_bytes ? (found == whole_.end() ? no_id : found->second)
                                              : vocabulary_.id_of(piece);
    if (id != no_id) {
      ids.push_back(id);
      return;
    }
  }
  thread_local std::vector<std::int32_t> symbols;
  symbols.clear();
  bool done = plain_bytes_;
  if (done)
    for (const char c : piece) {
      const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
      done = done && id != no_id;
      symbols.push_back(id);
    }
  if (!done) {
    symbols.clear();
    if (options_.as_bytes)
      append_characters(in_byte_alphabet(piece), symbols);
    else
      append_characters(piece, symbols);
  }
  merge_word(symbols, merges_);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

}  // namespace trainx::tokenizer
