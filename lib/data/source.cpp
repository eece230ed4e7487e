#include "data/source.hpp"
#include "core/error.hpp"
#include "data/labelled/labelled_lines.hpp"
#include "data/mixture/mixture.hpp"
#include "data/stories/sample.hpp"
#include "data/text/text_files.hpp"
#include "data/tokens/token_file.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

struct Open {
  Split split;
  const SourceOptions& how;
  std::unique_ptr<Source> operator()(const spec::StoriesOptions& o) const { return stories::open_stories(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::TextOptions& o) const { return text::open_text(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::TokensOptions& o) const { return tokens::open_tokens(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::JsonlOptions& o) const { return labelled::open_jsonl(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::CsvOptions& o) const { return labelled::open_csv(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::MixtureOptions& o) const { return open_mixture(o, split, how); }
};

struct MakeVocabulary {
  std::unique_ptr<Vocabulary> operator()(const spec::StoriesOptions&) const { return stories::make_stories_vocabulary(); }
  std::unique_ptr<Vocabulary> operator()(const spec::TextOptions&) const { return text::make_byte_vocabulary(); }
  std::unique_ptr<Vocabulary> operator()(const auto&) const { return nullptr; }
};

/// Text for masked_lm: its tokens, of which some are masked later, instead of those that follow them.
class WithoutTargets final : public Source {
 public:
  explicit WithoutTargets(std::unique_ptr<Source> text) : text_(std::move(text)) {}
  std::int64_t samples() const override { return text_->samples(); }
  std::int64_t vocab_size() const override { return text_->vocab_size(); }
  bool read(std::int64_t index, SampleView out) const override {
    text_->read(index, out);
    std::ranges::fill(out.targets, no_target);
    return false;
  }

 private:
  std::unique_ptr<Source> text_;
};

}  // namespace

Targets targets_of(spec::Task task) {
  switch (task) {
    case spec::Task::causal_lm: return Targets::next_token;
    case spec::Task::masked_lm: return Targets::own_token;
    case spec::Task::classification: return Targets::label;
  }
  throw InternalError("data: a task without targets");
}

std::unique_ptr<Source> open_source(const spec::DataOptions& options, Split split, const SourceOptions& how) {
  if (how.sequence_length < 1) throw InternalError("data: sequence length " + std::to_string(how.sequence_length));
  auto source = std::visit(Open{split, how}, options);
  const bool plain_text = !std::holds_alternative<spec::MixtureOptions>(options) && spec::always_fills_rows(options);
  if (!source || !plain_text || how.targets == Targets::next_token) return source;
  if (how.targets == Targets::label) throw UserError(ExitCode::bad_data, "the data has no class for its samples: classification takes data.type jsonl or csv");
  return std::make_unique<WithoutTargets>(std::move(source));
}

std::unique_ptr<Vocabulary> make_vocabulary(const spec::DataOptions& options) {
  std::unique_ptr<Vocabulary> vocabulary;   // of a mixture: that of its first source with one
  spec::for_each_source(options, [&](const auto& o) {
    if (!vocabulary) vocabulary = MakeVocabulary{}(o);
  });
  return vocabulary;
}

std::optional<double> entropy_floor_nats(const spec::DataOptions& options, Split split, const SourceOptions& how) {
  const auto* stories = std::get_if<spec::StoriesOptions>(&options);
  if (stories == nullptr) return std::nullopt;
  return stories::entropy_floor(*stories, split, how);
}

}  // namespace trainx::data
