#include "comm/communicator.hpp"
#include <cmath>
#include <vector>

namespace trainx::comm {

void Communicator::all_reduce_max(float* data, std::int64_t elements) {
  if (size() == 1) return;
  const auto n = static_cast<std::size_t>(elements);
  std::vector<float> all(n * static_cast<std::size_t>(size()));
  all_gather(reinterpret_cast<const std::byte*>(data), reinterpret_cast<std::byte*>(all.data()),
             elements * size_of(DType::f32));
  for (std::size_t k = 0; k < n; ++k) {
    float most = all[k];
    for (std::size_t at = k; at < all.size(); at += n)
      if (!std::isnan(most) && !(all[at] <= most)) most = all[at];
    data[k] = most;
  }
}

}  // namespace trainx::comm
