#include "kernels/optimizer/squared_norm.hpp"
#include <algorithm>

namespace trainx::kernels {

void squared_norm_reference(const NormTable& table, double* norm2, bool add) {
  double total = 0;
  for (std::int64_t c = 0; c < table.chunk_count; ++c) {
    const NormRange& r = table.ranges[table.chunks[c].range];
    const std::int64_t begin = table.chunks[c].index * chunk_elements,
                       end = std::min(r.elements, begin + chunk_elements);
    for (std::int64_t i = begin; i < end; ++i)
      total += static_cast<double>(r.data[i]) * static_cast<double>(r.data[i]);
  }
  *norm2 = add ? *norm2 + total : total;
}

}  // namespace trainx::kernels
