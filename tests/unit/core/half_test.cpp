#include "core/half.hpp"
#include "support/catch.hpp"
#include <bit>
#include <cmath>

namespace half_test {

using namespace trainx;

TEST_CASE("every 16-bit number survives widening and rounding") {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float half = widen_f16(bits), brain = widen_bf16(bits);
    if (std::isnan(half) ? !std::isnan(widen_f16(round_to_f16(half))) : round_to_f16(half) != bits)
      FAIL("f16 " << i);
    if (std::isnan(brain) ? !std::isnan(widen_bf16(round_to_bf16(brain)))
                          : round_to_bf16(brain) != bits)
      FAIL("bf16 " << i);
  }
}

TEST_CASE("between two neighbours the nearer is taken, half way the even one") {
  // positive finite f16 and the next one; the middle is exact in fp32
  for (std::uint32_t i = 0; i < 0x7bff; ++i) {
    const auto below = static_cast<std::uint16_t>(i), above = static_cast<std::uint16_t>(i + 1);
    const float middle = (widen_f16(below) + widen_f16(above)) / 2;
    const std::uint16_t even = i % 2 ? above : below;
    if (round_to_f16(middle) != even || round_to_f16(-middle) != (even | 0x8000))
      FAIL("f16, the middle above " << i);
    if (round_to_f16(std::nextafter(middle, 0.0f)) != below ||
        round_to_f16(std::nextafter(middle, 1e9f)) != above)
      FAIL("f16, beside the middle above " << i);
  }
  CHECK(round_to_bf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);
  CHECK(round_to_bf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
  CHECK(round_to_bf16(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
}

TEST_CASE("the ends of the ranges") {
  CHECK(round_to_f16(65519.996f) == 0x7bff);
  CHECK(round_to_f16(65520.0f) == 0x7c00);
  CHECK(round_to_f16(-1e30f) == 0xfc00);
  CHECK(round_to_f16(0x1p-25f) == 0);  // half the smallest: to even
  CHECK(round_to_f16(-0.0f) == 0x8000);
  CHECK(round_to_bf16(std::bit_cast<float>(0x7f7fffffu)) == 0x7f80);
  CHECK(widen_f16(1) == 0x1p-24f);
}

}  // namespace half_test
