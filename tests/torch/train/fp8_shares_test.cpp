// What is told and saved of casts to fp8.
#include "train/fp8_shares.hpp"
#include "core/error.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "support/catch.hpp"
#include <limits>

namespace fp8_shares_test {

using namespace trainx;
using kernels::fp8_counts;
using kernels::fp8_exponents;
using kernels::fp8_history;
using kernels::fp8_range_state;

TEST_CASE("shares of elements are those of all tensors of a class") {
  CHECK_FALSE(train::fp8_shares({}, false));
  for (const bool delayed : {false, true}) {
    const std::size_t row = fp8_counts + (delayed ? fp8_exponents : 0);
    std::vector<double> counts(3 * 2 * row, 7);  // three classes of two tensors
    const auto put = [&](std::size_t tensor, double all, double flushed, double saturated) {
      counts[tensor * row] = all, counts[tensor * row + 1] = flushed;
      counts[tensor * row + 2] = saturated, counts[tensor * row + 3] = 0;
    };
    put(0, 10, 1, 0), put(1, 30, 1, 4), put(2, 0, 0, 0), put(3, 0, 0, 0), put(4, 8, 8, 0);
    put(5, 8, 0, 1);
    const auto shares = train::fp8_shares(counts, delayed);
    REQUIRE(shares);
    CHECK(shares->flushed[0] == 2.0 / 40);
    CHECK(shares->saturated[0] == 4.0 / 40);
    CHECK(shares->flushed[1] == 0);
    CHECK(shares->flushed[2] == 0.5);
    CHECK(shares->saturated[2] == 1.0 / 16);
  }
}

TEST_CASE("a range is the power of two above the largest magnitude of the last steps") {
  std::vector<double> state(fp8_range_state);
  const auto step = [&](std::vector<float> magnitudes) {
    std::vector<double> exponents(fp8_exponents);
    for (const float m : magnitudes)
      exponents[static_cast<std::size_t>(kernels::fp8_exponent(kernels::bits_of(m)))] += 1;
    kernels::advance_fp8_range(state.data(), exponents.data());
    return state[0];
  };
  CHECK(step({}) == 0);  // of zeros nothing is known
  CHECK(step({0.75f, 3.0f, 0.1f}) == 4);
  CHECK(step({4.0f}) == 8);
  CHECK(step({0.5f}) == 8);
  for (int k = 2; k < fp8_history; ++k) CHECK(step({0.5f}) == 8);
  CHECK(step({0.5f}) == 1);  // the 4 is forgotten
  CHECK(step({1e-45f}) == 1);
  CHECK(step({std::numeric_limits<float>::infinity()}) == 0x1p32);
  CHECK(kernels::fp8_scale_of_range(8, kernels::Fp8Format::e4m3) == 8.0f / 256);
  CHECK(kernels::fp8_scale_of_range(8, kernels::Fp8Format::e5m2) == 8.0f / 32768);
}

TEST_CASE("ranges come back from the text of a checkpoint") {
  std::vector<double> ranges(3 * fp8_range_state);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (i % fp8_range_state > 0) ranges[i] = static_cast<double>(i * 7 % 129);
  for (std::size_t t = 0; t < 3; ++t) kernels::set_fp8_range(ranges.data() + t * fp8_range_state);
  CHECK(train::fp8_ranges_from(train::fp8_ranges_text(ranges), "state.json") == ranges);
  CHECK(train::fp8_ranges_from("", "state.json").empty());
  for (const char* bad :
       {"1", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 129", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -1",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x", "99999999999999999999"}) {
    INFO(bad);
    CHECK_THROWS_AS(train::fp8_ranges_from(bad, "state.json"), UserError);
  }
}

}  // namespace fp8_shares_test
