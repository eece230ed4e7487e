#include "tokenizer/train/word_counts.hpp"

namespace trainx::tokenizer {

class PieceCounter::Counting final : public Encoder {
 public:
  explicit Counting(const PieceCounter& counter) : counter_(counter) {}
  ~Counting() override {
    const std::lock_guard lock(counter_.mutex_);
    for (const auto& [piece, id] : ids_)
      if (const std::int64_t count = counts_[static_cast<std::size_t>(id)]; count > 0)
        counter_.counts_[piece] += count;
  }
  void count(const Ids& ids) {
    for (const std::int32_t id : ids) ++counts_[static_cast<std::size_t>(id)];
  }

  void append(std::string_view text, Ids& ids) override {
    Draft draft{std::string(text)};
    if (counter_.normalizer_) counter_.normalizer_->apply(draft, space_);
    pieces_.clear();
    made_.clear();
    counter_.pre_tokenizer_->split({draft.text, true}, pieces_, made_, space_);
    for (const Piece& piece : pieces_) {
      auto found = ids_.find(piece.text);
      if (found == ids_.end()) {
        found = ids_.emplace(piece.text, static_cast<std::int32_t>(counts_.size())).first;
        counts_.push_back(0);
      }
      ids.push_back(found->second);
    }
  }

 private:
  const PieceCounter& counter_;
  TextMap<std::int32_t> ids_;
  std::vector<std::int64_t> counts_;  // by id
  MatchSpace space_;
  Made made_;
  Pieces pieces_;
};

PieceCounter::PieceCounter(std::unique_ptr<Normalizer> normalizer,
                           std::unique_ptr<PreTokenizer> pre_tokenizer)
    : normalizer_(std::move(normalizer)), pre_tokenizer_(std::move(pre_tokenizer)) {}
PieceCounter::~PieceCounter() = default;

std::unique_ptr<Encoder> PieceCounter::make_encoder() const {
  return std::make_unique<Counting>(*this);
}

void PieceCounter::count(Encoder& by, const Ids& ids) { dynamic_cast<Counting&>(by).count(ids); }

Encoding PieceCounter::sample(Ids first, std::optional<Ids>, bool) const {
  Encoding out{std::move(first), {}};
  out.type_ids.assign(out.ids.size(), 0);
  return out;
}

}  // namespace trainx::tokenizer
