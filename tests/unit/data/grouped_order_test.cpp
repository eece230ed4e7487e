#include "data/grouped_order.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace trainx::data::grouped_order_test {
namespace {

/// Sample i has 1 to 100 tokens.
class Lengths final : public Source {
 public:
  explicit Lengths(std::int64_t samples) : samples_(samples) {}
  std::int64_t samples() const override { return samples_; }
  std::int64_t vocab_size() const override { return 0; }
  std::int64_t length(std::int64_t index) const override { return 1 + index * 7919 % 100; }
  bool read(std::int64_t, SampleView) const override { return true; }

 private:
  std::int64_t samples_;
};

Order grouped(std::int64_t samples, std::int64_t batch, std::uint64_t seed = 42) {
  return make_order(std::make_shared<Lengths>(samples), {seed, true, true, batch});
}

}  // namespace

TEST_CASE(
    "grouped by length every sample still comes once an epoch, wherever batches and epochs meet") {
  for (const std::int64_t samples : {1, 7, 100, 640, 641, 1000, 5000})
    for (const std::int64_t batch : {1, 3, 8, 10}) {
      INFO("samples " << samples << ", batch " << batch);
      const Order order = grouped(samples, batch);
      for (std::int64_t e = 0; e < 3; ++e) {
        std::set<std::int64_t> seen;
        for (std::int64_t i = 0; i < samples; ++i) seen.insert(order.sample_at(e * samples + i));
        REQUIRE(static_cast<std::int64_t>(seen.size()) == samples);
        REQUIRE(*seen.rbegin() == samples - 1);
      }
    }
}

TEST_CASE("batches are even in length, and their order is not") {
  constexpr std::int64_t samples = 10'007, batch = 16;
  const Lengths source(samples);
  const Order order = grouped(samples, batch), plain(samples, 42, true);
  double spread = 0, plain_spread = 0, sum = 0, steps = 0;
  std::vector<std::int64_t> longest;
  for (std::int64_t step = 0; step < 3 * samples / batch; ++step) {
    const auto range = [&](const Order& o) {
      std::int64_t low = 1000, high = 0;
      for (std::int64_t p = step * batch; p < (step + 1) * batch; ++p)
        low = std::min(low, source.length(o.sample_at(p))),
        high = std::max(high, source.length(o.sample_at(p)));
      return std::pair{low, high};
    };
    const auto [low, high] = range(order);
    spread += static_cast<double>(high - low);
    longest.push_back(high);
    sum += static_cast<double>(high);
    const auto [plain_low, plain_high] = range(plain);
    plain_spread += static_cast<double>(plain_high - plain_low);
    ++steps;
  }
  INFO("mean spread " << spread / steps << " tokens, " << plain_spread / steps
                      << " without grouping");
  CHECK(spread / steps < 4);
  CHECK(plain_spread / steps > 80);
  // Neighbouring batches have nothing to do with one another: a sorted order would climb nearly
  // always.
  std::int64_t climbs = 0;
  for (std::size_t i = 1; i < longest.size(); ++i) climbs += longest[i] > longest[i - 1];
  CHECK(climbs > 0.4 * static_cast<double>(longest.size()));
  CHECK(climbs < 0.6 * static_cast<double>(longest.size()));
}

TEST_CASE("a position's sample depends on nothing that was asked before, nor on threads") {
  const Order order = grouped(5000, 8);
  std::vector<std::int64_t> expected;
  for (std::int64_t p = 0; p < 15'000; ++p) expected.push_back(order.sample_at(p));
  const Order fresh = grouped(5000, 8);
  for (const std::int64_t p : {14'999, 3, 9000, 4999, 5000, 12'345, 0})
    CHECK(fresh.sample_at(p) == expected[static_cast<std::size_t>(p)]);
  const Order shared = grouped(5000, 8);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t p = t; p < expected.size(); p += 4)
        wrong[t] += shared.sample_at(static_cast<std::int64_t>(p)) != expected[p];
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
  std::int64_t same = 0;
  const Order other = grouped(5000, 8, 43);
  for (std::int64_t p = 0; p < 5000; ++p)
    same += other.sample_at(p) == expected[static_cast<std::size_t>(p)];
  CHECK(same < 50);
  CHECK_THROWS_AS(grouped(100, 0).sample_at(0), InternalError);
}

}  // namespace trainx::data::grouped_order_test
