#pragma once
#include "kernels/optimizer/update.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct LambSettings {
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  ScaleSettings scale;
};

/// Through which a step's launches hand their sums on; may hold anything before.
struct LambMemory {
  // [2 * chunks]: of each chunk the sums of squares of the weights and of their directions
  double* partial = nullptr;
  float* ratios = nullptr;  // [ranges]
  // [ranges + 1]: where the chunks of each range begin
  const std::int64_t* first_chunks = nullptr;
  std::int64_t ranges = 0;
  // [ranges]: of ranges that are parts of tensors, where two sums are: of squares of the whole
  // tensor's weights and of its directions
  double* const* sums = nullptr;
};

/// In-place LAMB (You et al. 2020, arXiv:1904.00962, Alg. 2, phi the identity) over all ranges,
/// each a whole tensor or, where sums are given, a part of one, in fp32; states are exp_avg and
/// exp_avg_sq. A tensor's step is its Adam direction plus weight decay, times |w| / |direction|; 1
/// where one of the two is zero. Sums are taken in double, in an order that the tensors' sizes
/// alone decide. Otherwise as adamw; the reference gives the same bits, but for the last one of
/// pow().
void lamb_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const LambSettings& settings, const LambMemory& memory);
/// Its three parts, of one chunk or one range alone: what a CPU's threads share.
// whether moments stay as they were, though their direction is taken
enum class LambStates : bool { kept, moved };
void lamb_reference_moments(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                            const UpdateScalars& scalars, const LambSettings& settings,
                            const LambMemory& memory, LambStates states = LambStates::moved);
/// Of ranges that are parts: their own sums into memory.sums. Those of all parts are to be added up
/// before the ratio is taken.
void lamb_reference_sums(std::int64_t range, const LambMemory& memory);
void lamb_reference_ratio(std::int64_t range, const LambMemory& memory);
void lamb_reference_apply(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                          const UpdateScalars& scalars, const LambSettings& settings,
                          const LambMemory& memory);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches.
/// Only the sums, where ranges are parts of tensors; `lamb` then takes them from there.
cudaError_t lamb_measure(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const LambSettings& settings, const LambMemory& memory,
                         cudaStream_t stream);
cudaError_t lamb(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const LambSettings& settings, const LambMemory& memory, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
