// Beam search over one text, as transformers searches (its early_stopping is false): the likeliest
// texts are followed side by side, those that end are kept with their scores, and the search ends
// when none that goes on can become better than the worst of them.
#pragma once
#include "launch/beam_options.hpp"
#include <cstdint>
#include <span>
#include <vector>

namespace trainx::generate {

class BeamSearch {
 public:
  struct Beam {
    std::vector<std::int32_t> added;
    double score = 0;        // sum of log-probabilities
    std::size_t parent = 0;  // which of the texts before it continues
  };
  struct Found {
    std::vector<std::int32_t> added;
    double score = 0;    // by the length
    bool ended = false;  // by a token of end_of_text
  };

  /// `end_of_text`: tokens that nothing follows. max_tokens is at least 1.
  BeamSearch(const launch::BeamOptions& options, std::int64_t max_tokens,
             std::vector<std::int32_t> end_of_text);

  /// The texts that go on: at first one, without tokens; best first.
  const std::vector<Beam>& running() const { return running_; }
  /// Takes what follows each of them, logits [vocab_size] each; they become others, each a token
  /// longer. Throws UserError 65 where a logit is NaN or infinity. Returns whether the search goes
  /// on.
  bool advance(const std::vector<std::span<const float>>& logits);
  /// The best text that ended, or had max_tokens. Once `advance` has returned false.
  const Found& best() const { return found_.front(); }

 private:
  struct Candidate {
    double score;
    std::size_t parent;
    std::int32_t token;
  };
  std::vector<Candidate> candidates(const std::vector<std::span<const float>>& logits) const;
  void keep(Found found);

  launch::BeamOptions options_;
  std::size_t beams_;
  std::int64_t max_tokens_;
  std::vector<std::int32_t> end_of_text_;
  std::vector<Beam> running_{Beam{}};
  std::vector<Found> found_;  // at most `beams`, best first
};

}  // namespace trainx::generate
