#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Where a row's token lies in its document, which begins at `start` of the sample (-1, padding:
/// 0), or in the sample where `start` is null. `first`: where in its sample row 0 lies.
TRAINX_HOST_DEVICE std::int64_t position_in_document(std::int64_t row, std::int64_t length,
                                                     const std::int32_t* start,
                                                     std::int64_t first = 0) {
  return !start ? row % length : *start < 0 ? 0 : first + row % length - *start;
}

}  // namespace trainx::kernels
