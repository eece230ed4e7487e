#include "state/new_tokens.hpp"
#include <algorithm>
#include <cmath>
#include "architectures/saved_layout.hpp"
#include "model/model.hpp"

namespace trainx::state {
namespace {

constexpr double share_of_variance = 1e-9;

}  // namespace

void append_new_tokens(const program::ParameterSpec& p, std::int64_t tokens, std::uint64_t seed,
                       std::vector<float>& saved) {
  const auto all = static_cast<std::size_t>(architectures::saved_elements(p)), had = saved.size();
  saved.resize(all);
  if (p.may_be_absent) return;
  const std::size_t columns = had / static_cast<std::size_t>(tokens);
  std::vector<double> mean(columns), variance(columns);
  for (std::size_t i = 0; i < had; ++i) mean[i % columns] += saved[i];
  for (double& m : mean) m /= static_cast<double>(tokens);
  for (std::size_t i = 0; i < had; ++i) {
    const double d = saved[i] - mean[i % columns];
    variance[i % columns] += d * d / static_cast<double>(tokens);
  }
  std::vector<float> noise(all - had);
  model::normal_numbers(seed, p.name, noise);
  for (std::size_t i = had; i < all; ++i) {
    const std::size_t c = i % columns;
    saved[i] =
        static_cast<float>(mean[c] + std::sqrt(share_of_variance * variance[c]) * noise[i - had]);
  }
}

}  // namespace trainx::state
