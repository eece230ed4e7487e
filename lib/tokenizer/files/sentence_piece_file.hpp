#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::tokenizer {

/// The parts of a SentencePiece model (sentencepiece_model.proto) that tokenizers are built from.
struct SentencePieceFile {
  enum Type : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };
  struct Piece {
    std::string text;
    float score = 0;
    std::int32_t type = normal;
  };
  std::vector<Piece> pieces;
  std::int32_t model_type = 1;  // 1 unigram, 2 BPE, 3 word, 4 char
  bool byte_fallback = false;
  std::int32_t unk_id = 0, bos_id = 1, eos_id = 2;
  std::string unk_piece = "<unk>", bos_piece = "<s>", eos_piece = "</s>";
  std::string charsmap;  // the normalizer's table in base64; empty: none
};

/// Throws UserError: 66 missing, 65 no SentencePiece model.
SentencePieceFile read_sentence_piece_file(const std::string& path);

}  // namespace trainx::tokenizer
