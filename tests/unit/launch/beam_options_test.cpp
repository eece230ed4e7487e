#include "core/error.hpp"
#include "launch/beam_options.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <string>

namespace beam_options_test {

using namespace trainx;

TEST_CASE("options of beams out of their range are refused, each by its name") {
  for (const launch::BeamOptions& good :
       {launch::BeamOptions{}, launch::BeamOptions{64, -3}, launch::BeamOptions{2, 0}})
    CHECK_NOTHROW(launch::check_beams(good));
  const auto refused = [](const launch::BeamOptions& o, const std::string& option) {
    try {
      launch::check_beams(o);
      FAIL("taken");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::usage);
      CHECK(std::string(e.what()).find(option) != std::string::npos);
    }
  };
  for (const std::int64_t beams : {0, -1, 65}) refused({beams, 1}, "--beams");
  for (const double penalty : {std::nan(""), HUGE_VAL}) refused({2, penalty}, "--length-penalty");
}

}  // namespace beam_options_test
