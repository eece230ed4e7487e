#include "tokenizer/files/sentence_piece.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "tokenizer/vocabulary.hpp"
#include <sentencepiece_processor.h>

namespace trainx::tokenizer {
namespace {

using sentencepiece::SentencePieceProcessor;

class SentencePieceEncoder final : public Encoder {
 public:
  SentencePieceEncoder(const SentencePieceProcessor& processor, const std::string& path)
      : processor_(processor), path_(path) {}
  void append(std::string_view text, Ids& ids) override {
    const auto status = processor_.Encode(text, &now_);
    if (!status.ok())
      throw UserError(ExitCode::bad_data,
                      path_ + ": SentencePiece cannot encode the text: " + status.message());
    ids.insert(ids.end(), now_.begin(), now_.end());
  }

 private:
  const SentencePieceProcessor& processor_;
  const std::string& path_;
  std::vector<int> now_;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const std::string& path) : file_(path) {
    const auto status =
        processor_.LoadFromSerializedProto(read_file(path, std::int64_t{256} << 20));
    if (!status.ok())
      throw UserError(ExitCode::bad_data,
                      path + " is no SentencePiece model: take the file again from where it came");
    if (processor_.GetPieceSize() < 1) throw UserError(ExitCode::bad_data, path + " has no tokens");
    if (processor_.eos_id() >= 0) set_end_of_text(processor_.eos_id());
  }

  std::unique_ptr<Encoder> make_encoder() const override {
    return std::make_unique<SentencePieceEncoder>(processor_, file_);
  }

  Encoding sample(Ids first, std::optional<Ids> second, bool) const override {
    Encoding out{std::move(first), {}};
    out.type_ids.assign(out.ids.size(), 0);
    if (second) {
      out.ids.insert(out.ids.end(), second->begin(), second->end());
      out.type_ids.resize(out.ids.size(), 1);
    }
    return out;
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    // The library leaves control tokens out by itself; asked for, they stand between the parts.
    std::string text;
    std::vector<int> part;
    const auto flush = [&] {
      std::string decoded;
      if (const auto status = processor_.Decode(part, &decoded); !status.ok())
        throw InternalError("SentencePiece cannot decode: " + status.ToString());
      text += decoded;
      part.clear();
    };
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= processor_.GetPieceSize()) continue;
      if (!skip_special && processor_.IsControl(id)) {
        flush();
        text += processor_.IdToPiece(id);
      } else {
        part.push_back(id);
      }
    }
    flush();
    return text;
  }

  std::int64_t vocab_size() const override { return processor_.GetPieceSize(); }
  std::int32_t id_of(std::string_view token) const override {
    const int id = processor_.PieceToId(token);
    return processor_.IdToPiece(id) == token ? id : no_id;
  }
  std::string token_of(std::int64_t id) const override {
    return id < 0 || id >= vocab_size() ? "" : processor_.IdToPiece(static_cast<int>(id));
  }

 private:
  std::string file_;
  SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_sentence_piece(const std::string& path) {
  return std::make_unique<SentencePieceTokenizer>(path);
}

}  // namespace trainx::tokenizer
