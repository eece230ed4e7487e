// Which tokens are drawn, and how often: against the distribution after temperature, top-k and
// top-p, written out.
#include "core/error.hpp"
#include "generate/sampling.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>
#include "support/catch.hpp"

namespace sampling_test {

using namespace trainx;
using generate::draw_token;
using generate::uniform_at;
using launch::SamplingOptions;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Probability of each token.
std::vector<double> distribution(const std::vector<float>& logits, const SamplingOptions& o) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (o.temperature == 0) order.resize(1);
  if (o.top_k > 0 && static_cast<std::size_t>(o.top_k) < order.size())
    order.resize(static_cast<std::size_t>(o.top_k));
  std::vector<double> p(logits.size());
  double sum = 0;
  for (const std::size_t i : order)
    sum += p[i] =
        o.temperature == 0
            ? 1
            : std::exp((static_cast<double>(logits[i]) - logits[order[0]]) / o.temperature);
  double reached = 0, kept = 0;
  for (const std::size_t i : order) {
    if (reached >= o.top_p) p[i] = 0;
    reached += p[i] / sum;
    kept += p[i];
  }
  for (double& x : p) x /= kept;
  return p;
}

void check_frequencies(const std::vector<float>& logits, const SamplingOptions& o,
                       std::uint64_t seed) {
  constexpr int draws = 40000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<std::size_t>(draw_token(logits, o, uniform_at(seed, i)))];
  const std::vector<double> p = distribution(logits, o);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    INFO("token " << i << " of probability " << p[i] << " was drawn " << counts[i] << " times of "
                  << draws << "; temperature " << o.temperature << " top_k " << o.top_k << " top_p "
                  << o.top_p << " seed " << seed);
    if (p[i] == 0)
      CHECK(counts[i] == 0);
    else
      CHECK(std::abs(counts[i] - draws * p[i]) <= 6 * std::sqrt(draws * p[i] * (1 - p[i])) + 6);
  }
}

std::vector<float> random_logits(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(n);
  for (float& x : logits) x = normal(random);
  return logits;
}

}  // namespace

TEST_CASE(
    "tokens are drawn as often as their probability after temperature, top-k and top-p says") {
  const unsigned seed = std::random_device{}();
  const std::vector<float> logits = random_logits(40, seed);
  for (const double temperature : {0.3, 1.0, 2.5})
    for (const std::int64_t top_k : {0, 1, 2, 7, 40, 1000})
      for (const double top_p : {0.05, 0.5, 0.9, 1.0})
        check_frequencies(logits, {temperature, top_k, top_p}, seed + 1);
  check_frequencies({0.5F}, {1, 0, 0.5}, seed);
  check_frequencies({-1e30F, 0, 1e30F}, {1, 0, 1}, seed);
}

TEST_CASE("top-p keeps the fewest likeliest tokens that reach p, and always one") {
  const std::vector<float> logits{std::log(0.1F), std::log(0.5F), std::log(0.15F), std::log(0.25F)};
  const auto drawn = [&](double top_p, std::int64_t top_k = 0) {
    std::set<std::int32_t> tokens;
    for (int i = 0; i < 2000; ++i) tokens.insert(draw_token(logits, {1, top_k, top_p}, i / 2000.0));
    return tokens;
  };
  CHECK(drawn(1e-300) == std::set<std::int32_t>{1});
  CHECK(drawn(0.49) == std::set<std::int32_t>{1});
  CHECK(drawn(0.51) == std::set<std::int32_t>{1, 3});
  CHECK(drawn(0.74) == std::set<std::int32_t>{1, 3});
  CHECK(drawn(0.76) == std::set<std::int32_t>{1, 2, 3});
  CHECK(drawn(0.91) == std::set<std::int32_t>{0, 1, 2, 3});
  CHECK(drawn(1) == std::set<std::int32_t>{0, 1, 2, 3});
  // of two tokens' 0.75 the first has two thirds
  CHECK(drawn(0.6, 2) == std::set<std::int32_t>{1});
  CHECK(drawn(0.7, 2) == std::set<std::int32_t>{1, 3});
}

TEST_CASE("greedy is the likeliest token, the first of equal ones, however it is asked for") {
  const std::vector<float> logits{-1, 3, 2, 3, -infinity};
  for (const double u : {0.0, 0.3, 0.999999}) {
    CHECK(draw_token(logits, {0, 0, 1}, u) == 1);
    CHECK(draw_token(logits, {0, 3, 0.9}, u) == 1);
    CHECK(draw_token(logits, {1, 1, 1}, u) == 1);
    CHECK(draw_token(logits, {1, 0, 1e-12}, u) == 1);
    CHECK(draw_token(logits, {7, 0, std::numeric_limits<double>::denorm_min()}, u) == 1);
  }
  // as cold as it may be
  CHECK(draw_token(std::vector<float>{0, 1}, {1e-300, 0, 1}, 0.999999) == 1);
}

TEST_CASE("what is impossible is never drawn, at either end of the random numbers") {
  const double last = 1 - 0x1p-53;
  const std::vector<float> logits{-infinity, 0, -infinity, 0, -infinity};
  for (const double top_p : {0.9, 1.0})
    for (const std::int64_t top_k : {0, 3, 5}) {
      CHECK(draw_token(logits, {1, top_k, top_p}, 0) == 1);
      CHECK(draw_token(logits, {1, top_k, top_p}, last) == 3);
    }
  // whose probability is 0 in double precision
  CHECK(draw_token(std::vector<float>{0, -10000}, {1, 0, 1}, last) == 0);
}

TEST_CASE("outputs that are no numbers are an error, greedy or not") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const SamplingOptions& o : {SamplingOptions{}, SamplingOptions{0, 0, 1},
                                   SamplingOptions{1, 1, 1}, SamplingOptions{1, 2, 0.5}})
    for (const auto& logits : std::vector<std::vector<float>>{
             {0, nan, 1}, {nan, nan}, {1, 2, nan}, {0, infinity}, {-infinity, -infinity}, {}}) {
      try {
        draw_token(logits, o, 0.5);
        FAIL("drawn");
      } catch (const UserError& e) { CHECK(e.code() == ExitCode::bad_data); }
    }
}

TEST_CASE("random numbers are uniform, and a function of seed and position alone") {
  std::map<int, int> tenths;
  std::set<double> all;
  constexpr int n = 50000;
  for (int i = 0; i < n; ++i) {
    const double u = uniform_at(7, i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    CHECK(u == uniform_at(7, i));
    ++tenths[static_cast<int>(10 * u)];
    all.insert(u);
    all.insert(uniform_at(8, i));
  }
  for (const auto& [tenth, count] : tenths)
    CHECK(std::abs(count - n / 10) <= 6 * std::sqrt(n * 0.09));
  CHECK(tenths.size() == 10);
  CHECK(all.size() == 2 * n);
  CHECK(uniform_at(0, 1) != uniform_at(std::uint64_t{1} << 32, 1));
  CHECK(uniform_at(0, 1) != uniform_at(0, std::int64_t{1} << 32));
}

}  // namespace sampling_test
