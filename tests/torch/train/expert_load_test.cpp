// What a report says of the loads of experts.
#include "train/expert_load.hpp"
#include <cmath>
#include "support/catch.hpp"

namespace expert_load_test {

using namespace trainx;

TEST_CASE("even loads have the largest entropy, and those of one expert none") {
  const auto even = train::expert_load({5, 5, 5, 5, 0}, 4);
  CHECK(std::abs(even->largest - (1)) < 1e-12);
  CHECK(std::abs(even->entropy - (1)) < 1e-12);
  CHECK(even->dropped == 0);
  const auto one = train::expert_load({0, 8, 0, 0, 3}, 4);
  CHECK(std::abs(one->largest - (4)) < 1e-12);
  CHECK(std::abs(one->entropy - (0)) < 1e-12);
  CHECK(one->dropped == 3);
}

TEST_CASE("the layer that is spread worst is told") {
  const auto load = train::expert_load({5, 5, 1, 9, 1, 0, 4, 6, 2}, 2);
  CHECK(std::abs(load->largest - (1.8)) < 1e-12);
  CHECK(std::abs(load->entropy - (-(0.9 * std::log(0.9) + 0.1 * std::log(0.1)) / std::log(2.0))) <
        1e-12);
  CHECK(load->dropped == 3);
  CHECK(!train::expert_load({}, 4));
  CHECK(train::expert_load({7, 0}, 1)->entropy == 1);
}

}  // namespace expert_load_test
