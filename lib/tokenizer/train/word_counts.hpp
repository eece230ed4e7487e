#pragma once
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/vocabulary.hpp"
#include <cstdint>
#include <map>
#include <mutex>

namespace trainx::tokenizer {

/// How often each piece is in the texts: what a vocabulary is learned from. Sorted, so that what
/// follows depends on the texts alone.
using WordCounts = std::map<std::string, std::int64_t>;

/// Stands where a tokenizer does: each piece is a token, whose id the encoder that met it first
/// gave it.
class PieceCounter final : public Tokenizer {
 public:
  /// `normalizer` may be null.
  PieceCounter(std::unique_ptr<Normalizer> normalizer, std::unique_ptr<PreTokenizer> pre_tokenizer);
  ~PieceCounter() override;
  std::unique_ptr<Encoder> make_encoder() const override;
  Encoding sample(Ids first, std::optional<Ids> second, bool special) const override;
  std::string decode(std::span<const std::int32_t>, bool) const override { return ""; }
  std::int64_t vocab_size() const override { return 1; }
  std::int32_t id_of(std::string_view) const override { return -1; }
  std::string token_of(std::int64_t) const override { return ""; }

  /// Counts pieces that an encoder of this gave ids.
  static void count(Encoder& by, const Ids& ids);
  /// What was counted with encoders that are gone.
  const WordCounts& counts() const { return counts_; }

 private:
  class Counting;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  mutable std::mutex mutex_;
  mutable WordCounts counts_;
};

}  // namespace trainx::tokenizer
