// Operands of the kernels' tests: random elements of either type, comparison with a reference,
// memory to fold sums in.
#pragma once
#include "gpu/device.hpp"
#include "kernels/bits.hpp"
#include "kernels/fold_memory.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace trainx::kernels {

/// Normal numbers of a seed. Tests ask for the first ones of few seeds again and again, for every
/// size and type, and drawing them takes longer than most references.
class NormalNumbers {
 public:
  static NormalNumbers& of_seed(unsigned seed) {
    static std::map<unsigned, NormalNumbers> kept;
    if (kept.size() > 64) kept.clear();  // seeds that are drawn
    return kept.try_emplace(seed, seed).first->second;
  }
  explicit NormalNumbers(unsigned seed) : random_(seed) {}

  /// use(i, number) of the first n.
  template <class Use>
  void each(std::size_t n, const Use& use) {
    while (kept_.size() < std::min(n, most_kept)) kept_.push_back(normal_(random_));
    for (std::size_t i = 0; i < std::min(n, most_kept); ++i) use(i, kept_[i]);
    if (n <= most_kept) return;
    std::mt19937 random = random_;
    std::normal_distribution<float> normal = normal_;
    for (std::size_t i = most_kept; i < n; ++i) use(i, normal(random));
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{1} << 23;
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
  std::vector<float> kept_;
};

template <class T>
std::vector<T> random_elements(std::int64_t n, unsigned seed, float deviation = 1, float mean = 0) {
  std::vector<T> x(static_cast<std::size_t>(n));
  NormalNumbers::of_seed(seed).each(
      x.size(), [&](std::size_t i, float number) { narrow(number * deviation + mean, x[i]); });
  return x;
}

inline std::vector<std::int32_t> random_integers(std::int64_t n, std::int64_t below,
                                                 unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> x(static_cast<std::size_t>(n));
  for (std::int32_t& i : x)
    i = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(below));
  return x;
}

template <class T>
// that may separate two roundings of nearly the same value
constexpr double rounding = std::is_same_v<T, Fp16> ? 1.0 / 512
                            : sizeof(T) == 2        ? 1.0 / 128
                                                    : 1e-5;

/// Every element within absolute + relative * |want|; NaN exactly where the reference has it.
template <class T>
void check_close(const std::vector<T>& got, const std::vector<T>& want, double relative,
                 double absolute, const char* what) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = widened(got[i]), w = widened(want[i]);
    const bool same = std::isnan(w)
                          ? std::isnan(g)
                          : g == w || std::abs(g - w) <= absolute + relative * std::abs(w);
    if (!same) FAIL(what << "[" << i << "] is " << g << " instead of " << w);
  }
}
inline void check_close(double got, double want, double relative, double absolute,
                        const char* what) {
  if (!(std::isnan(want) ? std::isnan(got)
                         : std::abs(got - want) <= absolute + relative * std::abs(want)))
    FAIL(what << " is " << got << " instead of " << want);
}

/// Partial sums full of NaN, counters of zero; the counters must be zero again afterwards.
class Folding {
 public:
  explicit Folding(std::int64_t partial_bytes)
      : partial_(std::vector<float>(static_cast<std::size_t>(partial_bytes) / sizeof(float),
                                    std::numeric_limits<float>::quiet_NaN())),
        counters_(std::vector<std::uint32_t>(fold_words)) {}
  FoldMemory memory() const { return {partial_.data(), counters_.data()}; }
  void check() const {
    partial_.host();  // its guards
    for (const std::uint32_t c : counters_.host())
      if (c != 0) FAIL("a counter was left at " << c);
  }

 private:
  OnDevice<float> partial_;
  OnDevice<std::uint32_t> counters_;
};

}  // namespace trainx::kernels
