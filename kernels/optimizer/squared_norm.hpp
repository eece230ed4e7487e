#pragma once
#include "kernels/optimizer/chunks.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct NormRange {
  const float* data = nullptr;  // any alignment; 16 bytes are faster
  std::int64_t elements = 0;
};

/// Ranges and their chunks (chunks_of) in device memory; for the reference, in host memory.
struct NormTable {
  const NormRange* ranges = nullptr;
  const Chunk* chunks = nullptr;
  std::int64_t chunk_count = 0;
};

/// *norm2 = (`add`: what is there, and) the sum of squares of all elements, in double (where the
/// square of a float is exact). NaN and infinities carry through. Each chunk is summed into its own
/// of `partial[chunk_count]`, then the partial sums, always in the same order: repeats are
/// bit-equal whatever the number of thread blocks. The reference adds one element after the other,
/// so it differs in rounding alone.
void squared_norm_reference(const NormTable& table, double* norm2, bool add = false);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches. With no chunks the sum is 0.
cudaError_t squared_norm(const NormTable& table, double* partial, double* norm2, bool add,
                         cudaStream_t stream);
#endif

}  // namespace trainx::kernels
