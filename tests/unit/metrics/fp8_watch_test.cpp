#include "metrics/fp8_watch.hpp"
#include "support/catch.hpp"

namespace fp8_watch_test {

using namespace trainx::metrics;

TEST_CASE("casts to fp8 that lose elements are told once of each class and cause") {
  Fp8Watch watch;
  Fp8Shares shares;
  CHECK(watch.news(1, shares).empty());
  shares.flushed[2] = Fp8Watch::most_flushed;
  shares.saturated[0] = Fp8Watch::most_saturated;
  CHECK(watch.news(2, shares).empty());
  shares.flushed[2] = 0.125;
  const auto first = watch.news(3, shares);
  REQUIRE(first.size() == 1);
  CHECK(first[0].find("12 %") != std::string::npos);
  CHECK(first[0].find("fp8_flushed_gradients") != std::string::npos);
  CHECK(first[0].find("precision.first_last: compute") != std::string::npos);
  shares.saturated[0] = 0.002;
  const auto second = watch.news(4, shares);
  REQUIRE(second.size() == 1);
  CHECK(second[0].find("0.2 %") != std::string::npos);
  CHECK(second[0].find("fp8_saturated_inputs") != std::string::npos);
  CHECK(watch.news(5, shares).empty());
  shares.flushed[0] = 0.5;
  CHECK(watch.news(6, shares).size() == 1);
}

}  // namespace fp8_watch_test
