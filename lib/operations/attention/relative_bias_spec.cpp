#include "operations/attention/relative_bias_spec.hpp"
#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace trainx::operations {

std::vector<std::int32_t> RelativeBias::buckets_of(std::int64_t lowest, std::size_t count) const {
  const std::int64_t of_side = both_sides ? buckets / 2 : buckets, exact = of_side / 2;
  // in fp32, as who trained the tables rounded
  const auto growth =
      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  std::vector<std::int32_t> out;
  for (std::int64_t distance = lowest; out.size() < count; ++distance) {
    const std::int64_t before = both_sides ? std::abs(distance)
                                           : -std::min<std::int64_t>(distance, 0);
    std::int64_t bucket = before;
    if (before >= exact) {
      const float share = std::log(static_cast<float>(before) / static_cast<float>(exact)) / growth;
      bucket =
          std::min(exact + static_cast<std::int64_t>(share * static_cast<float>(of_side - exact)),
                   of_side - 1);
    }
    out.push_back(static_cast<std::int32_t>(bucket + (both_sides && distance > 0 ? of_side : 0)));
  }
  return out;
}

}  // namespace trainx::operations
