#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace trainx::corpus {

/// Which row each piece goes into: the first that has room for it (first-fit: at most 1.7 times as
/// many rows as there need be; Johnson et al. 1974, SIAM J. Comput. 3(4)). Rows hold `row_length`
/// tokens, lengths are from 1 to that. n log n, 4 bytes a piece beside the answer.
std::vector<std::int64_t> first_fit_rows(std::span<const std::int32_t> lengths,
                                         std::int32_t row_length);

}  // namespace trainx::corpus
