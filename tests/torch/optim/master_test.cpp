#include "group_fixture.hpp"
#include "support/catch.hpp"

namespace master_test {

using namespace trainx::optim;

namespace {

std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

// Checks the promises of split and join for all of `exact`.
void check_split(const std::vector<float>& exact) {
  std::vector<std::uint16_t> bf16(exact.size()), low(exact.size()), zeros(exact.size());
  std::vector<float> joined(exact.size()), rounded(exact.size());
  split_master(exact, bf16.data(), low.data());
  join_master(bf16, low.data(), joined.data());
  join_master(bf16, zeros.data(), rounded.data());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const float x = exact[i];
    if (std::isnan(x)) {
      if (!std::isnan(joined[i]) || !std::isnan(rounded[i]))
        FAIL("NaN " << std::hex << bits_of(x) << " becomes " << bits_of(joined[i]));
      continue;
    }
    if (bits_of(joined[i]) != bits_of(x))
      FAIL("bits " << std::hex << bits_of(x) << " become " << bits_of(joined[i]));
    // Nearest: no bf16 beside it is nearer; distances are exact in double. The step after the
    // largest is infinity.
    const double away = std::abs(static_cast<double>(rounded[i]) - x);
    const double beside =
        std::min(std::abs(static_cast<double>(float_of(bits_of(rounded[i]) + 0x10000)) - x),
                 (bits_of(rounded[i]) & 0x7fff0000) == 0
                     ? 1e300
                     : std::abs(static_cast<double>(float_of(bits_of(rounded[i]) - 0x10000)) - x));
    if (std::isfinite(rounded[i]) && !(away <= beside))
      FAIL("bits " << std::hex << bits_of(x) << " are rounded to " << bits_of(rounded[i]));
  }
}

}  // namespace

TEST_CASE("split and join are exact for special floats") {
  std::vector<float> special;
  for (const std::uint32_t sign : {0u, 0x80000000u})
    for (const std::uint32_t high :
         {0u, 1u, 0x7fu, 0x80u, 0x3f80u, 0x3f81u, 0x7f7fu, 0x7f80u, 0x7fc0u, 0x7fffu})
      for (const std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
        special.push_back(float_of(sign | high << 16 | low));
  check_split(special);
}

TEST_CASE("split and join are exact for random bits, and for every low half") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<float> x(1'000'003);
  for (float& f : x) f = float_of(static_cast<std::uint32_t>(random()));
  check_split(x);
  x.resize(65536);
  for (const std::uint32_t high : {0x3f80u, 0xbf81u, 0x0000u, 0x8001u}) {
    for (std::uint32_t low = 0; low < 65536; ++low) x[low] = float_of(high << 16 | low);
    check_split(x);
  }
}

TEST_CASE("ties round away from zero") {
  const std::vector<float> ties{float_of(0x3f808000), float_of(0x3f818000), float_of(0xbf808000)};
  std::vector<std::uint16_t> bf16(3), low(3);
  split_master(ties, bf16.data(), low.data());
  CHECK(bf16 == std::vector<std::uint16_t>{0x3f81, 0x3f82, 0xbf81});
  CHECK(low == std::vector<std::uint16_t>{0x8000, 0x8000, 0x8000});
}

}  // namespace master_test
