#include "text_codec.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "tokenizer/tokenizer.hpp"
#include <algorithm>
#include <sstream>

namespace trainx::worker {
namespace {

class TokenizerCodec final : public TextCodec {
 public:
  explicit TokenizerCodec(std::unique_ptr<tokenizer::Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  std::vector<std::int32_t> encode(const std::string& text) const override {
    tokenizer::Ids ids;
    tokenizer_->make_encoder()->append(text, ids);
    // What the tokenizer puts before a text belongs to it; what it puts behind does not yet, for
    // the text goes on.
    tokenizer::Ids sample = tokenizer_->sample(ids, std::nullopt, true).ids;
    if (const auto found = std::ranges::search(sample, ids); !found.empty())
      sample.erase(found.end(), sample.end());
    else
      sample = ids;
    return sample;
  }
  std::vector<std::int32_t> encode_whole(const std::string& text) const override {
    tokenizer::Ids ids;
    tokenizer_->make_encoder()->append(text, ids);
    return tokenizer_->sample(std::move(ids), std::nullopt, true).ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    return tokenizer_->decode(ids, true);
  }
  std::int32_t end_of_text() const override { return tokenizer_->end_of_text(); }

 private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

class VocabularyCodec final : public TextCodec {
 public:
  explicit VocabularyCodec(std::unique_ptr<data::Vocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)) {}
  std::vector<std::int32_t> encode(const std::string& text) const override {
    return vocabulary_->encode(text);
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::vector<std::int32_t> known;
    // a model may have room for more
    std::ranges::copy_if(ids, std::back_inserter(known),
                         [&](std::int32_t id) { return id < vocabulary_->size(); });
    return vocabulary_->decode(known);
  }

 private:
  std::unique_ptr<data::Vocabulary> vocabulary_;
};

/// "464 2068 7586"
class IdsCodec final : public TextCodec {
 public:
  explicit IdsCodec(std::int64_t vocab_size) : vocab_size_(vocab_size) {}
  std::vector<std::int32_t> encode(const std::string& text) const override {
    std::vector<std::int32_t> ids;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const bool digits = word.find_first_not_of("0123456789") == std::string::npos &&
                          word.size() < 10;
      const long id = digits ? std::stol(word) : -1;
      if (id < 0 || id >= vocab_size_)
        throw UserError(
            ExitCode::bad_data,
            "'" + word + "' is no token id below " + std::to_string(vocab_size_) +
                "; nothing says which words this model's tokens are: give ids separated by spaces");
      ids.push_back(static_cast<std::int32_t>(id));
    }
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
  }
  bool is_text() const override { return false; }

 private:
  std::int64_t vocab_size_;
};

std::unique_ptr<TextCodec> tokenizer_codec(const std::string& path, std::int64_t vocab_size) {
  auto tokenizer = tokenizer::open_tokenizer(path);
  if (tokenizer->vocab_size() > vocab_size)
    throw UserError(ExitCode::bad_data,
                    "the tokenizer " + tokenizer->path() + " has ids up to " +
                        std::to_string(tokenizer->vocab_size() - 1) +
                        ", but the model's vocab_size is " + std::to_string(vocab_size) +
                        ": they do not belong together; name the model's own (--tokenizer)");
  return std::make_unique<TokenizerCodec>(std::move(tokenizer));
}

}  // namespace

std::unique_ptr<TextCodec> make_text_codec(const std::string& tokenizer,
                                           std::unique_ptr<data::Vocabulary> vocabulary,
                                           const std::string& model_folder,
                                           std::int64_t vocab_size) {
  if (tokenizer == "none") return std::make_unique<IdsCodec>(vocab_size);
  if (!tokenizer.empty()) return tokenizer_codec(tokenizer, vocab_size);
  if (vocabulary) return std::make_unique<VocabularyCodec>(std::move(vocabulary));
  for (const std::string& folder : {model_folder, model_folder_of(model_folder)})
    if (tokenizer::has_tokenizer(folder)) return tokenizer_codec(folder, vocab_size);
  return std::make_unique<IdsCodec>(vocab_size);
}

}  // namespace trainx::worker
