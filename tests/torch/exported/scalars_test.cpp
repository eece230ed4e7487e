// Numbers made of sizes are Python's.
#include "exported/scalars.hpp"
#include "support/catch.hpp"
#include <c10/util/Exception.h>
#include <cstdint>

namespace scalars_test {

using trainx::exported::scalar_function;

TEST_CASE("whole numbers stay whole, and division rounds down") {
  const auto whole = [](const char* name, std::int64_t a, std::int64_t b) {
    const c10::IValue made = scalar_function(name, {a, b});
    REQUIRE(made.isInt());
    return made.toInt();
  };
  CHECK(whole("floordiv", -7, 2) == -4);
  CHECK(whole("floordiv", 7, 2) == 3);
  CHECK(whole("mod", -7, 2) == 1);
  CHECK(whole("mod", 8, 4) == 0);
  CHECK(whole("pow", 3, 4) == 81);
  CHECK(whole("min", 3, -4) == -4);
  CHECK(scalar_function("truediv", {std::int64_t{1}, std::int64_t{4}}).toDouble() == 0.25);
  CHECK(scalar_function("floordiv", {-1.5, std::int64_t{1}}).toDouble() == -2.0);
  CHECK(scalar_function("neg", {std::int64_t{5}}).toInt() == -5);
  CHECK(scalar_function("int", {-2.5}).toInt() == -2);
  CHECK(scalar_function("ceil", {-2.5}).toInt() == -2);
  CHECK(scalar_function("lt", {std::int64_t{1}, 1.5}).toBool());
}

TEST_CASE("what has no result throws") {
  constexpr std::int64_t most = INT64_MAX;
  CHECK_THROWS_AS(scalar_function("add", {most, std::int64_t{1}}), c10::Error);
  CHECK_THROWS_AS(scalar_function("mul", {most, most}), c10::Error);
  CHECK_THROWS_AS(scalar_function("neg", {INT64_MIN}), c10::Error);
  CHECK_THROWS_AS(scalar_function("floordiv", {std::int64_t{1}, std::int64_t{0}}), c10::Error);
  CHECK_THROWS_AS(scalar_function("truediv", {1.0, 0.0}), c10::Error);
  CHECK_THROWS_AS(scalar_function("pow", {std::int64_t{10}, std::int64_t{40}}), c10::Error);
}

}  // namespace scalars_test
