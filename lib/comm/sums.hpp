// Sums over ranks.
#pragma once
#include "core/dtype.hpp"
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainx::comm {

/// sum[i] = parts[0][i] + parts[1][i] + ..., added in this order: f32, f64 and i64 in their own
/// type, bf16 and f16 in fp32 and rounded once, to nearest even. `sum` may be one of the parts. All
/// must be aligned to the type. Throws InternalError for other types.
void sum_parts(std::byte* sum, std::span<const std::byte* const> parts, std::int64_t elements,
               DType dtype);

}  // namespace trainx::comm
