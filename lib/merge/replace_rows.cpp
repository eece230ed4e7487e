#include "merge/replace_rows.hpp"
#include <algorithm>

namespace trainx::merge {

void replace_rows(std::span<const std::int32_t> ids, std::int64_t columns,
                  std::span<const float> rows, std::span<float> saved) {
  for (std::size_t k = 0; k < ids.size(); ++k)
    std::copy_n(rows.begin() + static_cast<std::int64_t>(k) * columns, columns,
                saved.begin() + ids[k] * columns);
}

}  // namespace trainx::merge
