#include "data/spread.hpp"
#include "support/catch.hpp"
#include <vector>

namespace spread_test {

namespace {

using trainx::data::Spread;

std::vector<std::int64_t> all_of(const Spread& spread) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < spread.count(); ++i) out.push_back(spread[i]);
  return out;
}

}  // namespace

TEST_CASE("a spread takes one number of each equal part, so that none comes twice") {
  const std::int64_t samples = GENERATE(1, 7, 100, 1'000'003);
  const std::int64_t count = GENERATE(1, 2, 7, 33, 100);
  if (count > samples) return;
  const auto numbers = all_of(Spread(samples, count, 0));
  for (std::int64_t i = 0; i < count; ++i) {
    CAPTURE(samples, count, i);
    const std::int64_t n = numbers[static_cast<std::size_t>(i)];
    CHECK(n >= i * samples / count);
    CHECK(n < (i + 1) * samples / count);
  }
}

TEST_CASE("a spread of all is all in order; the key decides which numbers a part gives") {
  CHECK(all_of(Spread(5, 5, 9)) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(all_of(Spread(1000, 10, 1)) == all_of(Spread(1000, 10, 1)));
  CHECK(all_of(Spread(1000, 10, 1)) != all_of(Spread(1000, 10, 2)));
  CHECK(all_of(Spread(std::int64_t{1} << 50, 2, 0)).back() >= std::int64_t{1} << 49);
}

}  // namespace spread_test
