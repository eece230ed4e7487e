#include "core/error.hpp"
#include "launch/sampling_options.hpp"
#include "support/catch.hpp"
#include <limits>

namespace sampling_options_test {

using namespace trainx;

TEST_CASE("sampling options out of their range are refused, each by its name") {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const launch::SamplingOptions& good :
       {launch::SamplingOptions{}, launch::SamplingOptions{0, 0, 1e-12},
        launch::SamplingOptions{1e-300, 1, 0.5}, launch::SamplingOptions{1e300, 1 << 30, 1}})
    CHECK_NOTHROW(launch::check_sampling(good));
  const auto refused = [](const launch::SamplingOptions& o, const std::string& option) {
    try {
      launch::check_sampling(o);
      FAIL("taken");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::usage);
      CHECK(std::string(e.what()).find(option) != std::string::npos);
    }
  };
  for (const double temperature : {-1.0, -1e-300, nan, infinity, -infinity})
    refused({temperature, 0, 1}, "--temperature");
  refused({1, -1, 1}, "--top-k");
  for (const double top_p : {0.0, -0.5, 1.0000001, nan, infinity})
    refused({1, 0, top_p}, "--top-p");
}

}  // namespace sampling_options_test
