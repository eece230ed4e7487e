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

}  // namespace

const float* dynamic_map(bool is_signed) {
  static const std::array<float, 256> maps[2] = {made(false), made(true)};
  return maps[is_signed].data();
}

}  // namespace trainx::kernels
