#include "plan/schedule.hpp"
#include <cmath>
#include "support/catch.hpp"

using namespace trainx;
using recipe::ScheduleType;

TEST_CASE("learning rates follow the formulas of the contract") {
  const double lr = 6e-4;
  recipe::ScheduleSection cosine{ScheduleType::cosine, {}, 0.1}, linear{ScheduleType::linear, {}, 0.1}, constant{};
  const auto table = plan::learning_rate_table(cosine, lr, 4, 100);
  REQUIRE(table.size() == 100);
  for (std::size_t s = 0; s < 100; ++s) {
    const double want = s < 4 ? lr * static_cast<double>(s + 1) / 4 : lr * (0.1 + 0.9 * (1 + std::cos(3.14159265358979323846 * static_cast<double>(s - 4) / 96)) / 2);
    if (!(std::abs(table[s] - want) <= 1e-12 * lr)) FAIL("step " << s);
  }
  CHECK(std::abs(plan::learning_rate(linear, lr, 52, 4, 100) - lr * (1 - 0.9 * 0.5)) <= 1e-12 * lr);
  CHECK(std::abs(plan::learning_rate(linear, lr, 1000, 4, 100) - lr * 0.1) <= 1e-12 * lr);
  CHECK(plan::learning_rate_table(constant, lr, 3, -1) == std::vector<double>{lr / 3, lr * 2 / 3, lr, lr});
  CHECK(plan::learning_rate_table(cosine, lr, 0, 1) == std::vector<double>{lr});
}
