#include "metrics/fp8_watch.hpp"
#include <cstdio>
#include <utility>

namespace trainx::metrics {
namespace {

constexpr const char* tensors[Fp8Shares::classes] = {"inputs of products", "weights",
                                                     "output gradients"};

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

}  // namespace

std::vector<std::string> Fp8Watch::news(std::int64_t step, const Fp8Shares& shares) {
  std::vector<std::string> out;
  const auto tell = [&](double share, int of, const std::string& what, const std::string& key) {
    out.push_back("step " + std::to_string(step) + ": " + percent(share) + " of the elements of " +
                  tensors[of] + " " + what + " in fp8 (" + key + Fp8Shares::names[of] +
                  " in metrics.jsonl); if losses suffer, keep the first and the last layer in bf16 "
                  "(precision.first_last: compute), or all (precision.products: compute)");
  };
  for (int of = 0; of < Fp8Shares::classes; ++of) {
    if (shares.flushed[of] > most_flushed && !std::exchange(told_flushed_[of], true))
      tell(shares.flushed[of], of, "became zero", "fp8_flushed_");
    if (shares.saturated[of] > most_saturated && !std::exchange(told_saturated_[of], true))
      tell(shares.saturated[of], of, "were cut to the largest number", "fp8_saturated_");
  }
  return out;
}

}  // namespace trainx::metrics
