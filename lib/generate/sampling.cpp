#include "generate/sampling.hpp"
#include "core/error.hpp"
#include "tensor/random_key.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace trainx::generate {
std::size_t largest_logit(std::span<const float> logits) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      throw UserError(
          ExitCode::bad_data,
          "the model's output for token " + std::to_string(i) + " is " +
              (std::isnan(logits[i]) ? "not a number" : "infinite") +
              ": its weights are damaged, or its training diverged; take an earlier checkpoint");
    if (logits[i] > logits[largest]) largest = i;
  }
  if (logits.empty() || !std::isfinite(logits[largest]))
    throw UserError(ExitCode::bad_data,
                    "the model's output leaves no token possible: its weights are damaged; take an "
                    "earlier checkpoint");
  return largest;
}

std::int32_t draw_token(std::span<const float> logits, const launch::SamplingOptions& o, double u) {
  const std::size_t largest = largest_logit(logits);
  if (o.temperature == 0 || o.top_k == 1) return static_cast<std::int32_t>(largest);
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  const bool cut = o.top_k > 0 && static_cast<std::size_t>(o.top_k) < ids.size();
  if (cut) {
    std::ranges::nth_element(ids, ids.begin() + o.top_k, likelier);
    ids.resize(static_cast<std::size_t>(o.top_k));
  }
  if (cut || o.top_p < 1) std::ranges::sort(ids, likelier);

  std::vector<double> weights(ids.size());  // not yet divided by their sum
  std::ranges::transform(ids, weights.begin(), [&](std::int32_t id) {
    return std::exp((static_cast<double>(logit(id)) - logits[largest]) / o.temperature);
  });
  double mass = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (o.top_p < 1) {
    const double wanted = o.top_p * mass;
    std::size_t kept = 0;
    mass = 0;
    while (kept < weights.size() && mass < wanted) mass += weights[kept++];
    weights.resize(kept);
  }
  double left = u * mass;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    if ((left -= weights[i]) < 0) break;
  }
  return ids[last];
}

double uniform_at(std::uint64_t seed, std::int64_t position) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto at = static_cast<std::uint64_t>(position);
  const auto bits = tensor::philox({low(at), high(at), 0, 0}, {low(seed), high(seed)});
  return static_cast<double>((std::uint64_t{bits[0]} << 32 | bits[1]) >> 11) * 0x1p-53;
}

}  // namespace trainx::generate
