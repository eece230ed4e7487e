#include "tokenizer/word_piece.hpp"
#include "core/error.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"
#include <algorithm>

namespace trainx::tokenizer {

WordPiece::WordPiece(VocabularyTable vocabulary, WordPieceOptions options, const std::string& place)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  unk_ = vocabulary_.id_of(options_.unk_token);
  if (unk_ == no_id)
    throw UserError(ExitCode::bad_data, place + ": the vocabulary lacks the unknown token " +
                                            yaml::excerpt(options_.unk_token));
  for (std::int64_t id = 0; id < vocabulary_.size(); ++id)
    longest_ = std::max(longest_, vocabulary_.token_of(id).size());
}

void WordPiece::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const auto unknown = [&](std::size_t kept) {
    ids.resize(kept);
    ids.push_back(unk_);
  };
  const std::size_t before = ids.size();
  if (count_code_points(piece) > static_cast<std::size_t>(options_.max_input_chars_per_word))
    return unknown(before);
  std::string candidate;
  for (std::size_t start = 0; start < piece.size();) {
    candidate = start > 0 ? options_.continuing_subword_prefix : "";
    const std::size_t prefix = candidate.size();
    candidate.append(piece.substr(start));
    std::int32_t id = no_id;
    while (candidate.size() > prefix) {
      if (candidate.size() <= longest_) id = vocabulary_.id_of(candidate);
      if (id != no_id) break;
      while ((static_cast<unsigned char>(candidate.back()) & 0xc0) == 0x80) candidate.pop_back();
      candidate.pop_back();
    }
    if (id == no_id) return unknown(before);
    ids.push_back(id);
    start += candidate.size() - prefix;
  }
}

}  // namespace trainx::tokenizer
