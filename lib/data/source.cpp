#include "data/source.hpp"
#include "core/error.hpp"
#include "data/stories/sample.hpp"
#include "data/text/text_files.hpp"
#include "data/tokens/token_file.hpp"

namespace trainx::data {
namespace {

struct Open {
  Split split;
  const SourceOptions& how;
  std::unique_ptr<Source> operator()(const spec::StoriesOptions& o) const { return stories::open_stories(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::TextOptions& o) const { return text::open_text(o, split, how); }
  std::unique_ptr<Source> operator()(const spec::TokensOptions& o) const { return tokens::open_tokens(o, split, how); }
};

struct MakeVocabulary {
  std::unique_ptr<Vocabulary> operator()(const spec::StoriesOptions&) const { return stories::make_stories_vocabulary(); }
  std::unique_ptr<Vocabulary> operator()(const spec::TextOptions&) const { return text::make_byte_vocabulary(); }
  std::unique_ptr<Vocabulary> operator()(const spec::TokensOptions&) const { return nullptr; }
};

}  // namespace

std::unique_ptr<Source> open_source(const spec::DataOptions& options, Split split, const SourceOptions& how) {
  if (how.sequence_length < 1) throw InternalError("data: sequence length " + std::to_string(how.sequence_length));
  return std::visit(Open{split, how}, options);
}

std::unique_ptr<Vocabulary> make_vocabulary(const spec::DataOptions& options) { return std::visit(MakeVocabulary{}, options); }

std::optional<double> entropy_floor_nats(const spec::DataOptions& options, Split split, const SourceOptions& how) {
  const auto* stories = std::get_if<spec::StoriesOptions>(&options);
  if (stories == nullptr) return std::nullopt;
  return stories::entropy_floor(*stories, split, how);
}

}  // namespace trainx::data
