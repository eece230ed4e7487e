#pragma once
#include "tokenizer/bpe/merge_table.hpp"
#include "tokenizer/model.hpp"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace trainx::tokenizer {

struct BpeOptions {
  std::string unk_token;  // empty: what the vocabulary lacks is left out
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false;       // of neighbouring unknown characters one token
  bool byte_fallback = false;  // the bytes of an unknown character as <0x00> to <0xFF>
  bool ignore_merges = false;  // a piece that is a token is not merged together
  bool as_bytes = false;       // pieces are bytes, tokens are spelled in GPT-2's alphabet
};

/// Ranks in the order given.
using Merges = std::vector<std::pair<std::string, std::string>>;

class Bpe final : public Model {
 public:
  /// `place_of(i)`: where merge i stands, for refusals (UserError 65).
  template <class PlaceOf>
  Bpe(VocabularyTable vocabulary, const Merges& merges, BpeOptions options, PlaceOf&& place_of)
      : Bpe(std::move(vocabulary), merges.size(), std::move(options)) {
    for (std::size_t i = 0; i < merges.size(); ++i)
      add_merge(merges[i], static_cast<std::uint32_t>(i), [&] { return place_of(i); });
  }

  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;
  const VocabularyTable& vocabulary() const override { return vocabulary_; }

 private:
  Bpe(VocabularyTable vocabulary, std::size_t merges, BpeOptions options);
  template <class Place>
  void add_merge(const Merges::value_type& merge, std::uint32_t rank, Place&& place) {
    const MergedPair pair = merged(merge);
    if (!pair.problem.empty()) refuse(place(), pair.problem);
    merges_.add(pair.left, pair.right, {rank, static_cast<std::uint32_t>(pair.id)});
  }
  struct MergedPair {
    std::int32_t left = no_id, right = no_id, id = no_id;
    std::string problem;
  };
  MergedPair merged(const Merges::value_type& merge) const;
  [[noreturn]] static void refuse(const std::string& place, const std::string& problem);
  void append_characters(std::string_view piece, std::vector<std::int32_t>& symbols) const;

  VocabularyTable vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::int32_t unk_ = no_id;
  bool plain_bytes_ = false;                  // each byte is one symbol, whatever stands around it
  std::array<std::int32_t, 256> byte_ids_{};  // as_bytes: of single bytes
  std::array<std::int32_t, 256> fallback_ids_{};  // byte_fallback
  // as_bytes and ignore_merges: tokens by the bytes that they mean
  TextMap<std::int32_t> whole_;
};

}  // namespace trainx::tokenizer
