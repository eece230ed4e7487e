// Several short pieces of memory in one launch. A copy of the driver's may wait in the copy
// engines' queue behind long ones to and from the host; a kernel does not.
#pragma once
#include "kernels/cuda_types.hpp"
#include <array>
#include <cstddef>
#include <cstdint>

namespace trainx::kernels {

/// All on the device; none of `to` overlaps another or any `from`. Both at 16 bytes are faster.
struct CopiedRange {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};
constexpr std::size_t most_copied_ranges = 16;
// those without bytes are left out
using CopiedRanges = std::array<CopiedRange, most_copied_ranges>;

/// Asynchronous on `stream`; one launch, whose status is returned.
cudaError_t copy_ranges(const CopiedRanges& ranges, cudaStream_t stream);

}  // namespace trainx::kernels
