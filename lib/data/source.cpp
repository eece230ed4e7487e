#include "data/source.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "data/files/file_list.hpp"
#include "data/files/held_out.hpp"
#include "data/files/joined_source.hpp"
#include "data/labelled/labelled_lines.hpp"
#include "data/mixture/mixture.hpp"
#include "data/packed_file.hpp"
#include "data/stories/sample.hpp"
#include "data/text/text_files.hpp"
#include "data/tokens/token_file.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

struct Open {
  Split split;
  const SourceOptions& how;
  std::unique_ptr<Source> operator()(const options::StoriesOptions& o) const {
    return stories::open_stories(o, split, how);
  }
  std::unique_ptr<Source> operator()(const options::MixtureOptions& o) const {
    return open_mixture(o, split, how);
  }
  std::unique_ptr<Source> operator()(const options::OwnDataOptions& o) const {
    return labelled::open_own(o, split, how);
  }
  template <class Options>
  std::unique_ptr<Source> operator()(const Options& o) const {
    if (split == Split::eval && !o.eval && !o.held_out) return nullptr;
    const bool of_train = split == Split::train || o.held_out;
    const auto paths = of_train ? expand(o.train) : expand(*o.eval, Split::eval);
    SourceOptions reading = how;
    if (o.held_out && split == Split::eval)
      reading.scan = false;  // the training split looks through the same files
    auto source = open_files(o, paths, reading);
    return o.held_out ? split_source(std::move(source), split, *o.held_out) : std::move(source);
  }

 private:
  static std::unique_ptr<Source> open_files(const options::TextOptions&,
                                            const std::vector<std::string>& paths,
                                            const SourceOptions& reading) {
    return text::open_text(paths, reading);
  }
  static std::unique_ptr<Source> open_files(const options::TokensOptions& o,
                                            const std::vector<std::string>& paths,
                                            const SourceOptions& reading) {
    return join_sources(tokens::open_tokens(o, paths, reading));
  }
  static std::unique_ptr<Source> open_files(const options::JsonlOptions& o,
                                            const std::vector<std::string>& paths,
                                            const SourceOptions& reading) {
    return join_sources(each(paths, [&](const std::string& path) {
      return labelled::open_jsonl(o, open_unpacked(path), reading);
    }));
  }
  static std::unique_ptr<Source> open_files(const options::CsvOptions& o,
                                            const std::vector<std::string>& paths,
                                            const SourceOptions& reading) {
    return join_sources(each(paths, [&](const std::string& path) {
      return labelled::open_csv(o, open_unpacked(path), reading);
    }));
  }
  template <class OpenFile>
  static std::vector<std::unique_ptr<Source>> each(const std::vector<std::string>& paths,
                                                   OpenFile&& open) {
    std::vector<std::unique_ptr<Source>> sources;
    Refusals refusals;  // of all files at once
    for (const std::string& path : paths) refusals.collect([&] { sources.push_back(open(path)); });
    refusals.throw_all();
    return sources;
  }
};

struct MakeVocabulary {
  std::unique_ptr<Vocabulary> operator()(const options::StoriesOptions&) const {
    return stories::make_stories_vocabulary();
  }
  std::unique_ptr<Vocabulary> operator()(const options::TextOptions&) const {
    return text::make_byte_vocabulary();
  }
  std::unique_ptr<Vocabulary> operator()(const auto&) const { return nullptr; }
};

/// Text for masked_lm: its tokens, of which some are masked later, instead of those that follow
/// them.
class WithoutTargets final : public Source {
 public:
  explicit WithoutTargets(std::unique_ptr<Source> text) : text_(std::move(text)) {}
  std::int64_t samples() const override { return text_->samples(); }
  std::int64_t vocab_size() const override { return text_->vocab_size(); }
  std::vector<DataFile> files() const override { return text_->files(); }
  bool read(std::int64_t index, SampleView out) const override {
    text_->read(index, out);
    std::ranges::fill(out.targets, no_target);
    return false;
  }

 private:
  std::unique_ptr<Source> text_;
};

}  // namespace

Targets targets_of(options::Task task, options::ProblemType problem) {
  using options::ProblemType;
  switch (task) {
    case options::Task::causal_lm: return Targets::next_token;
    case options::Task::masked_lm: return Targets::own_token;
    case options::Task::classification:
      return problem == ProblemType::single_label_classification ? Targets::label
             : problem == ProblemType::regression                ? Targets::numbers
                                                                 : Targets::shares;
    case options::Task::token_classification: return Targets::token_class;
    case options::Task::seq2seq: return Targets::another_text;
  }
  throw InternalError("data: a task without targets");
}

std::unique_ptr<Source> open_source(const options::DataOptions& options, Split split,
                                    const SourceOptions& how) {
  if (how.sequence_length < 1)
    throw InternalError("data: sequence length " + std::to_string(how.sequence_length));
  if (!how.fields.empty())
    options::for_each_source(options, []<class Options>(const Options& o) {
      if constexpr (!requires { Options::has_own_fields; })
        throw UserError(ExitCode::bad_data, "the model reads fields of its own, and data of type " +
                                                std::string(o.name) +
                                                " has none: data.type jsonl does");
    });
  auto source = std::visit(Open{split, how}, options);
  const bool plain_text = !std::holds_alternative<options::MixtureOptions>(options) &&
                          options::always_fills_rows(options);
  if (!source || !plain_text || how.targets == Targets::next_token) return source;
  if (how.targets == Targets::another_text)
    throw UserError(ExitCode::bad_data,
                    "the data has no text that belongs to another: seq2seq takes data.type jsonl "
                    "or csv with input_ids and labels");
  if (how.targets != Targets::own_token)
    throw UserError(
        ExitCode::bad_data,
        "the data has no labels for its samples: classification takes data.type jsonl or csv");
  return std::make_unique<WithoutTargets>(std::move(source));
}

std::unique_ptr<Vocabulary> make_vocabulary(const options::DataOptions& options) {
  std::unique_ptr<Vocabulary> vocabulary;  // of a mixture: that of its first source with one
  options::for_each_source(options, [&](const auto& o) {
    if (!vocabulary) vocabulary = MakeVocabulary{}(o);
  });
  return vocabulary;
}

std::optional<double> entropy_floor_nats(const options::DataOptions& options, Split split,
                                         const SourceOptions& how) {
  const auto* stories = std::get_if<options::StoriesOptions>(&options);
  if (stories == nullptr) return std::nullopt;
  return stories::entropy_floor(*stories, split, how);
}

}  // namespace trainx::data
