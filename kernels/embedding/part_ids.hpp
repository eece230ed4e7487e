#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// ids[N]: which of the rows [first, first + count) of a table each token has; `count` where it has
/// none of them, or is `without`.
struct PartIds {
  std::int64_t tokens_count = 0;
  const std::int32_t* tokens = nullptr;
  std::int64_t first = 0, count = 0, without = -1;
  std::int32_t* ids = nullptr;
};

TRAINX_HOST_DEVICE std::int32_t part_id(const PartIds& op, std::int64_t i) {
  const std::int64_t token = op.tokens[i], row = token - op.first;
  const bool has = token != op.without && row >= 0 && row < op.count;
  return static_cast<std::int32_t>(has ? row : op.count);
}

inline void part_ids_reference(const PartIds& op) {
  for (std::int64_t i = 0; i < op.tokens_count; ++i) op.ids[i] = part_id(op, i);
}
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t part_ids(const PartIds& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
