#include "plan/explain/human_time.hpp"
#include "support/catch.hpp"

namespace human_time_test {

using namespace trainx::plan;

TEST_CASE("times and work have three digits") {
  CHECK(human_time(0) == "0 ms");
  CHECK(human_time(12.3e-6) == "12.3 us");
  CHECK(human_time(8.6349e-3) == "8.63 ms");
  CHECK(human_time(0.99949) == "999 ms");
  CHECK(human_time(0.9996) == "1.00 s");
  CHECK(human_time(75.0924) == "75.1 s");
  CHECK(human_time(1659.8) == "1660 s");
  CHECK(human_time(-1) == "?");
  CHECK(human_amount(0.066) == "0.07");
  CHECK(human_amount(9.5) == "9.50");
  CHECK(human_amount(63600) == "63.6k");
  CHECK(human_flops(0) == "0.00 FLOP");
  CHECK(human_flops(29.84e15) == "29.8 PFLOP");
  CHECK(human_flops(999.6e9) == "1.00 TFLOP");
}

}  // namespace human_time_test
