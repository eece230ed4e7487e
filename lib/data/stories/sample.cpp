#include "data/stories/sample.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include "data/stories/grammar.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::data::stories {
namespace {

class StoriesSource final : public Source {
 public:
  StoriesSource(std::int64_t samples, Split split, std::uint64_t seed)
      : samples_(samples), split_(split), seed_(seed) {}
  std::int64_t samples() const override { return samples_; }
  std::int64_t vocab_size() const override {
    return static_cast<std::int64_t>(Grammar::english().words().size());
  }
  bool read(std::int64_t index, SampleView out) const override {
    if (index < 0 || index >= samples_)
      throw InternalError("stories: sample " + std::to_string(index) + " of " +
                          std::to_string(samples_));
    std::vector<std::int32_t> text(out.tokens.size() + 1);  // [T + 1]
    draw_sample(seed_, split_, index, text);
    std::copy(text.begin(), text.end() - 1, out.tokens.begin());
    std::copy(text.begin() + 1, text.end(), out.targets.begin());
    return true;
  }

 private:
  std::int64_t samples_;
  Split split_;
  std::uint64_t seed_;
};

std::int64_t sample_count(const options::StoriesOptions& options, Split split) {
  return split == Split::train ? options.samples : options.eval_samples;
}

}  // namespace

void draw_sample(std::uint64_t seed, Split split, std::int64_t index,
                 std::span<std::int32_t> tokens, std::span<double> nats) {
  const Grammar& grammar = Grammar::english();
  CounterRandom random(seed, split == Split::train ? 1 : 2, static_cast<std::uint64_t>(index));
  Position at = grammar.start();
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    grammar.choices(at, choices);
    std::size_t drawn = 0;
    if (choices.size() > 1) {
      double left = random.uniform() - choices[0].probability;
      while (left >= 0 && drawn + 1 < choices.size()) left -= choices[++drawn].probability;
    }
    tokens[i] = choices[drawn].token;
    if (!nats.empty()) nats[i] = -std::log(choices[drawn].probability);
    grammar.advance(at, tokens[i]);
  }
}

std::unique_ptr<Source> open_stories(const options::StoriesOptions& options, Split split,
                                     const SourceOptions& how) {
  auto source = std::make_unique<StoriesSource>(sample_count(options, split), split, how.seed);
  if (how.vocab_limit > 0 && source->vocab_size() > how.vocab_limit) {
    throw UserError(ExitCode::bad_data, "stories has " + std::to_string(source->vocab_size()) +
                                            " words, but the model's vocabulary only " +
                                            std::to_string(how.vocab_limit) +
                                            ": leave model.options.vocab_size out");
  }
  return source;
}

double entropy_floor(const options::StoriesOptions& options, Split split,
                     const SourceOptions& how) {
  constexpr std::int64_t most_tokens = 1 << 20;  // drawn in less than a tenth of a second
  const std::int64_t tokens_of_sample = std::min(how.sequence_length, most_tokens);
  std::int64_t samples = split == Split::train ? std::min<std::int64_t>(options.samples, 4096)
                                               : options.eval_samples;
  samples = std::min(samples, most_tokens / tokens_of_sample);
  const auto length = static_cast<std::size_t>(tokens_of_sample);
  std::vector<std::int32_t> tokens(length + 1);
  std::vector<double> nats(length + 1);
  double sum = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    draw_sample(how.seed, split, i, tokens, nats);
    // the first token is no target
    for (std::size_t t = 1; t <= length; ++t) sum += nats[t];
  }
  return sum / (static_cast<double>(samples) * static_cast<double>(length));
}

}  // namespace trainx::data::stories
