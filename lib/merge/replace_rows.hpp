#pragma once
#include <cstdint>
#include <span>

namespace trainx::merge {

/// Rows `ids` of saved[tokens, columns] become those of rows[ids, columns].
void replace_rows(std::span<const std::int32_t> ids, std::int64_t columns,
                  std::span<const float> rows, std::span<float> saved);

}  // namespace trainx::merge
