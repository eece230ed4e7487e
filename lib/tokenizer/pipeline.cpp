#include "tokenizer/pipeline.hpp"
#include "tokenizer/word_cache.hpp"

namespace trainx::tokenizer {
namespace {

class PipelineEncoder final : public Encoder {
 public:
  explicit PipelineEncoder(const Pipeline& pipeline) : p_(pipeline) {}

  void append(std::string_view text, Ids& ids) override {
    p_.added.for_each_part(
        text, false, [&](std::int32_t id) { ids.push_back(id); },
        [&](std::size_t begin, std::size_t end) {
          append_raw(text.substr(begin, end - begin), begin == 0, ids);
        });
    if (pieces_.capacity() > most_pieces) pieces_ = {};
  }

 private:
  static constexpr std::size_t most_pieces = 1 << 20;  // kept from one text to the next

  void append_raw(std::string_view raw, bool begins_text, Ids& ids) {
    Draft draft;
    std::string_view text = raw;
    if (p_.normalizer) {
      draft.text = raw;
      p_.normalizer->apply(draft, space_);
      text = draft.text;
    }
    p_.added.for_each_part(
        text, true, [&](std::int32_t id) { ids.push_back(id); },
        [&](std::size_t begin, std::size_t end) {
          append_piece(
              {text.substr(begin, end - begin), begins_text && draft.from_first > 0 && begin == 0},
              ids);
        });
  }

  void append_piece(const Piece& piece, Ids& ids) {
    pieces_.clear();
    made_.clear();
    if (p_.pre_tokenizer)
      p_.pre_tokenizer->split(piece, pieces_, made_, space_);
    else
      pieces_.push_back(piece);
    for (const Piece& part : pieces_)
      cache_.append(part.text, ids,
                    [&](std::string_view text, Ids& out) { p_.model->encode(text, out); });
  }

  const Pipeline& p_;
  MatchSpace space_;
  Made made_;
  Pieces pieces_;
  WordCache cache_;
};

class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(Pipeline pipeline) : p_(std::move(pipeline)) {}

  std::unique_ptr<Encoder> make_encoder() const override {
    return std::make_unique<PipelineEncoder>(p_);
  }
  Encoding sample(Ids first, std::optional<Ids> second, bool special) const override {
    return p_.post_processor.apply(first, second, special);
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    Tokens tokens;
    for (const std::int32_t id : ids) {
      const AddedToken* added = p_.added.by_id(id);
      const std::string& token = added ? p_.added.decoded(*added)
                                       : p_.model->vocabulary().token_of(id);
      const bool known = added || p_.model->vocabulary().has(id);
      if (known && !(skip_special && p_.added.is_special(token))) tokens.push_back(token);
    }
    MatchSpace space;
    if (p_.decoder && !tokens.empty()) p_.decoder->apply(tokens, space);
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && !p_.decoder) text += ' ';
      text += tokens[i];
    }
    return text;
  }

  std::int64_t vocab_size() const override {
    return std::max(p_.model->vocabulary().size(), p_.added.size());
  }
  std::int32_t id_of(std::string_view token) const override {
    const std::int32_t added = p_.added.id_of(token);
    return added != no_id ? added : p_.model->vocabulary().id_of(token);
  }
  std::string token_of(std::int64_t id) const override {
    const AddedToken* added = p_.added.by_id(id);
    return added ? added->content : p_.model->vocabulary().token_of(id);
  }

 private:
  Pipeline p_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(Pipeline pipeline) {
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

}  // namespace trainx::tokenizer
