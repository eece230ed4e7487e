#include "plan/bytes_per_parameter.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace bytes_per_parameter_test {

using namespace trainx::plan;

TEST_CASE(
    "the rules of thumb are 18 bytes for mixed precision with AdamW, 12 with its states in 8 bits, "
    "6 for inference, 2 in 16 bits alone") {
  const auto rules = rules_of_thumb();
  const auto total = [&](const std::string& name) {
    for (const auto& r : rules)
      if (r.name == name) return r.total();
    return 0.0;
  };
  CHECK(total("mixed precision, AdamW") == 18);
  CHECK(total("mixed precision, 8-bit AdamW") == 12);
  CHECK(total("mixed precision, SGD with momentum") == 14);
  CHECK(total("fp32, AdamW") == 16);
  CHECK(total("mixed precision, inference") == 6);
  CHECK(total("16 bits alone, inference") == 2);
  CHECK(rules.front().optimizer == 8);
}

TEST_CASE("the optimizers' table of a model of 3B parameters: 24 GB, more than 12 GB, 6 GB") {
  const auto model = t5_3b();
  const double n = parameters_of(model);
  CHECK(n == 2'851'598'336);  // as published: 2.85B
  const auto table = optimizer_table(model);
  REQUIRE(table.size() == 3);
  CHECK(3 * table[0].per_parameter == 24);
  CHECK(table[0].bytes == 8 * n);
  CHECK(3 * table[1].per_parameter == 12);
  CHECK(table[1].extra_bytes > 0);  // "slightly more than 4 bytes"
  CHECK(table[1].bytes < 4.01 * n);
  CHECK(3 * table[2].per_parameter == 6);
  CHECK(table[2].bytes < 2.01 * n);
}

TEST_CASE("what comes beside the parameters is of rows and columns, or of blocks of 2048") {
  const auto table = optimizer_table({{100, 300, 2}, {1, 50, 1}});
  CHECK(table[1].extra_bytes == 4 * (2 * 400 + 50));
  CHECK(table[2].extra_bytes == 8 * (2 * 15 + 1));
  CHECK(parameters_of({{100, 300, 2}, {1, 50, 1}}) == 60050);
}

}  // namespace bytes_per_parameter_test
