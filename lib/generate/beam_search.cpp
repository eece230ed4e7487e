#include "generate/beam_search.hpp"
#include "core/error.hpp"
#include "generate/sampling.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::generate {

BeamSearch::BeamSearch(const launch::BeamOptions& options, std::int64_t max_tokens,
                       std::vector<std::int32_t> end_of_text)
    : options_(options),
      beams_(static_cast<std::size_t>(options.beams)),
      max_tokens_(max_tokens),
      end_of_text_(std::move(end_of_text)) {}

/// The likeliest, best first: so many that as many as there are beams go on although others end.
std::vector<BeamSearch::Candidate> BeamSearch::candidates(
    const std::vector<std::span<const float>>& logits) const {
  if (logits.size() != running_.size())
    throw InternalError("BeamSearch: not the logits of each text");
  const std::size_t wanted = std::max<std::size_t>(2, 1 + end_of_text_.size()) * beams_;
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  };
  std::vector<Candidate> best;
  for (std::size_t parent = 0; parent < logits.size(); ++parent) {
    const std::span<const float> x = logits[parent];
    const float largest = x[largest_logit(x)];
    double sum = 0;
    for (const float v : x) sum += std::exp(static_cast<double>(v) - largest);
    const double log_sum = largest + std::log(sum);
    for (std::size_t token = 0; token < x.size(); ++token)
      if (std::isfinite(x[token]))
        best.push_back({running_[parent].score + x[token] - log_sum, parent,
                        static_cast<std::int32_t>(token)});
    const std::size_t kept = std::min(wanted, best.size());
    std::ranges::partial_sort(best, best.begin() + static_cast<std::ptrdiff_t>(kept), better);
    best.resize(kept);
  }
  return best;
}

void BeamSearch::keep(Found found) {
  const auto at = std::ranges::upper_bound(found_, found.score, std::greater<>(), &Found::score);
  found_.insert(at, std::move(found));
  if (found_.size() > beams_) found_.pop_back();
}

bool BeamSearch::advance(const std::vector<std::span<const float>>& logits) {
  const auto length = static_cast<std::int64_t>(running_.front().added.size()) + 1;
  const double by = std::pow(static_cast<double>(length), options_.length_penalty);
  std::vector<Beam> going;
  std::size_t place = 0;
  for (const Candidate& c : candidates(logits)) {
    std::vector<std::int32_t> added = running_[c.parent].added;
    added.push_back(c.token);
    const bool ends = std::ranges::find(end_of_text_, c.token) != end_of_text_.end();
    if (!ends && length < max_tokens_) {
      if (going.size() < beams_) going.push_back({std::move(added), c.score, c.parent});
    } else if (place < beams_) {  // others that end stood behind texts that go on
      keep({std::move(added), c.score / by, ends});
    }
    ++place;
  }
  running_ = std::move(going);
  if (running_.empty()) return false;
  return found_.size() < beams_ || running_.front().score / by > found_.back().score;
}

}  // namespace trainx::generate
