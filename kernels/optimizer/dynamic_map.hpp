#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Elements that share a scale.
constexpr std::int64_t quantised_block = 256;

/// The 256 numbers between -1 (0 where unsigned) and 1 that a byte stands for, ascending: the dynamic map of Dettmers et al. 2022 (arXiv:2110.02861), as
/// bitsandbytes' create_dynamic_map makes it: seven powers of ten, each cut evenly, finer the larger it is.
const float* dynamic_map(bool is_signed);

/// The byte whose number in `map` is nearest to x, of two equally near the lower one.
TRAINX_HOST_DEVICE std::uint8_t nearest_code(const float* map, float x) {
  int at = 0;                           // the last that is not above x
  for (int step = 128; step > 0; step /= 2)
    if (map[at + step] <= x) at += step;
  if (at < 255 && sum(x, -map[at]) > sum(map[at + 1], -x)) ++at;
  return static_cast<std::uint8_t>(at);
}

}  // namespace trainx::kernels
