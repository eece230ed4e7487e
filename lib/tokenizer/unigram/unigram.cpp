#include "tokenizer/unigram/unigram.hpp"
#include "core/error.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::tokenizer {
namespace {

// An unknown character scores so much less than the worst token, as SentencePiece has it.
constexpr double unk_penalty = 10;

ByteTrie trie_of(const VocabularyTable& vocabulary) {
  std::vector<std::pair<std::string, std::int32_t>> texts;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = vocabulary.token_of(id);
    if (vocabulary.id_of(token) == id) texts.emplace_back(token, static_cast<std::int32_t>(id));
  }
  return ByteTrie(std::move(texts));
}

/// The best way to the bytes before a place: what its last token is.
struct Best {
  double score = 0;
  std::size_t begin = 0;  // of that token
  std::int32_t id = no_id;
  bool reached = false;
};

}  // namespace

Unigram::Unigram(VocabularyTable vocabulary, std::vector<double> scores, UnigramOptions options,
                 std::string place)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      options_(options),
      place_(std::move(place)),
      trie_(trie_of(vocabulary_)),
      unk_score_(*std::ranges::min_element(scores_) - unk_penalty) {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    byte_ids_[byte] = vocabulary_.id_of(name);
  }
}

void Unigram::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::vector<Best> best(piece.size() + 1);
  for (std::size_t begin = 0; begin < piece.size();) {
    const double so_far = best[begin].score;
    const std::size_t character = utf8_length(static_cast<unsigned char>(piece[begin]));
    bool covered = false;
    const auto offer = [&](std::size_t bytes, std::int32_t id, double score) {
      Best& target = best[begin + bytes];
      if (!target.reached || so_far + score > target.score)
        target = {so_far + score, begin, id, true};
      covered |= bytes == character;
    };
    trie_.for_each_prefix(piece.substr(begin), [&](std::size_t bytes, std::int32_t id) {
      offer(bytes, id, scores_[static_cast<std::size_t>(id)]);
    });
    if (!covered && options_.unk_id == no_id)
      throw UserError(ExitCode::bad_data,
                      place_ + ".unk_id is missing, and no token covers " +
                          yaml::excerpt(std::string(piece.substr(begin, character))) +
                          " of the text: name the token for what is unknown");
    if (!covered) offer(character, options_.unk_id, unk_score_);
    begin += character;
  }
  // From the end to the beginning; neighbouring unknown characters are one text.
  std::vector<std::string_view> parts;
  bool unknown = false;
  for (std::size_t end = piece.size(); end > 0;) {
    const Best& last = best[end];
    const std::string_view part = piece.substr(last.begin, end - last.begin);
    const bool is_unknown = options_.unk_id != no_id && last.id == options_.unk_id;
    if (is_unknown && unknown)
      parts.back() = {part.data(), part.size() + parts.back().size()};
    else
      parts.push_back(part);
    unknown = is_unknown;
    end = last.begin;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) append(*part, ids);
}

void Unigram::append(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (const std::int32_t id = vocabulary_.id_of(text); id != no_id) return ids.push_back(id);
  const auto byte_id = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (options_.byte_fallback &&
      std::ranges::all_of(text, [&](char c) { return byte_id(c) != no_id; })) {
    for (const char c : text) ids.push_back(byte_id(c));
    return;
  }
  ids.push_back(options_.unk_id);
}

}  // namespace trainx::tokenizer
