#include "data/order.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <set>
#include <vector>

namespace trainx::data::order_test {
namespace {

std::vector<std::int64_t> epoch(const Order& order, std::int64_t index) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < order.samples(); ++i)
    samples.push_back(order.sample_at(index * order.samples() + i));
  return samples;
}

bool is_permutation_of_all(const std::vector<std::int64_t>& samples) {
  const std::set<std::int64_t> distinct(samples.begin(), samples.end());
  return distinct.size() == samples.size() && *distinct.begin() == 0 &&
         *distinct.rbegin() == static_cast<std::int64_t>(samples.size()) - 1;
}

}  // namespace

TEST_CASE("each epoch has every sample once, whatever the count") {
  for (std::int64_t count = 1; count <= 200; ++count) {
    const Order order(count, 7, true);
    for (std::int64_t e = 0; e < 3; ++e) {
      INFO("samples " << count << ", epoch " << e);
      CHECK(is_permutation_of_all(epoch(order, e)));
    }
  }
  CHECK(is_permutation_of_all(epoch(Order(65536, 42, true), 0)));
  CHECK(is_permutation_of_all(epoch(Order(65537, 42, true), 5)));
}

TEST_CASE("epochs, seeds and the identity differ in their order") {
  const Order order(1000, 42, true);
  CHECK(epoch(order, 0) != epoch(order, 1));
  CHECK(epoch(order, 0) != epoch(Order(1000, 43, true), 0));
  CHECK(epoch(order, 0) == epoch(Order(1000, 42, true), 0));
  const auto in_order = epoch(Order(1000, 42, false), 3);
  for (std::int64_t i = 0; i < 1000; ++i) REQUIRE(in_order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("shuffling moves samples about: neither near their place nor in runs") {
  for (const std::int64_t count : {100, 1000, 50'000}) {
    const auto samples = epoch(Order(count, 1, true), 0);
    std::int64_t runs = 0;
    // mean |sample - place| over the count; a third in a random permutation
    double moved = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      moved += std::abs(static_cast<double>(samples[i]) - static_cast<double>(i));
      if (i > 0 && samples[i] == samples[i - 1] + 1) ++runs;
    }
    moved /= static_cast<double>(count * count);
    INFO("samples " << count << ": " << runs << " neighbours stay neighbours, mean move " << moved);
    // about 1 of a random permutation
    CHECK(runs <= 8);
    CHECK(std::abs(moved - 1.0 / 3) < 0.05);
  }
}

TEST_CASE("billions of samples are sought in no time and stay distinct") {
  const std::int64_t count = 3'000'000'019;
  const Order order(count, 42, true);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const std::int64_t sample = order.sample_at(2 * count + i * 149'993);
    REQUIRE(sample >= 0);
    REQUIRE(sample < count);
    seen.insert(sample);
  }
  CHECK(seen.size() == 20'000);
  CHECK(order.epoch_at(2 * count - 1) == 1);
  CHECK(order.epoch_at(2 * count) == 2);
}

TEST_CASE("an order of nothing is a bug") {
  CHECK_THROWS_AS(Order(0, 1, true), InternalError);
  CHECK_THROWS_AS(Order(3, 1, true).sample_at(-1), InternalError);
}

}  // namespace trainx::data::order_test
