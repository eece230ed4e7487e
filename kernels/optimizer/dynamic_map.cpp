#include "kernels/optimizer/dynamic_map.hpp"
#include <algorithm>
#include <array>

namespace trainx::kernels {
namespace {

constexpr int powers = 7;

std::array<float, 256> made(bool is_signed) {
  std::array<float, 256> map{};
  int n = 0;
  for (int i = 0; i < powers; ++i) {
    const int cuts = is_signed ? 1 << i : 2 << i;
    const auto border = [&](int k) {  // torch.linspace(0.1, 1, cuts + 1), from the nearer end
      const float step = (1.0f - 0.1f) / static_cast<float>(cuts);
      return k < (cuts + 1) / 2 ? 0.1f + step * static_cast<float>(k)
                                : 1.0f - step * static_cast<float>(cuts - k);
    };
    const auto scale = static_cast<float>(std::pow(10.0, i - (powers - 1)));
    for (int k = 0; k < cuts; ++k) {
      const float mean = scale * ((border(k) + border(k + 1)) / 2);
      map[static_cast<std::size_t>(n++)] = mean;
      if (is_signed) map[static_cast<std::size_t>(n++)] = -mean;
    }
  }
  map[static_cast<std::size_t>(n++)] = 0;
  map[static_cast<std::size_t>(n++)] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

template <int bits>
void fill(MagnitudeCodes<bits>& codes, const float* map, bool negative) {
  using Codes = MagnitudeCodes<bits>;
  const auto code = [&](std::uint32_t magnitude) {
    return nearest_code(map, float_of(magnitude | (negative ? 0x80000000 : 0)));
  };
  constexpr std::uint32_t count = 1u << Codes::low_bits;
  for (int b = 0; b < Codes::buckets; ++b) {
    // the first has smaller numbers as well, the last larger ones: alike, all of them
    const std::uint32_t first =
        (static_cast<std::uint32_t>(b) +
         (static_cast<std::uint32_t>(127 + Codes::smallest_exponent) << bits) - 1)
        << Codes::low_bits;
    const std::uint8_t from = code(first);
    std::uint32_t below = 0, other = count;  // other: the first that is not `from`
    if (code(first + count - 1) == from) below = count;
    while (below + 1 < other) {
      const std::uint32_t middle = (below + other) / 2;
      (code(first + middle) == from ? below : other) = middle;
    }
    codes.words[b] = static_cast<std::uint32_t>(from) << 24 | other;
  }
}

}  // namespace

const DynamicCodes& dynamic_codes() {
  static const DynamicCodes made = [] {
    DynamicCodes codes{};
    std::copy_n(dynamic_map(true), 256, codes.of_signed);
    std::copy_n(dynamic_map(false), 256, codes.of_unsigned);
    fill(codes.signed_codes[0], codes.of_signed, false);
    fill(codes.signed_codes[1], codes.of_signed, true);
    fill(codes.unsigned_codes, codes.of_unsigned, false);
    return codes;
  }();
  return made;
}

const float* dynamic_map(bool is_signed) {
  static const std::array<float, 256> maps[2] = {made(false), made(true)};
  return maps[is_signed].data();
}

}  // namespace trainx::kernels
