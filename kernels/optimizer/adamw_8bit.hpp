#pragma once
#include "kernels/optimizer/adamw.hpp"
#include <cstdint>

namespace trainx::kernels {

struct AdamW8bitSettings : AdamWSettings {};

struct DynamicCodes;

/// Which of a range's states is what. A range has either the first two or the others.
struct AdamW8bitState {
  enum { exp_avg, exp_avg_sq, exp_avg_codes, exp_avg_absmax, exp_avg_sq_codes, exp_avg_sq_absmax };
};

/// In-place AdamW whose moments are bytes (Dettmers et al. 2022, arXiv:2110.02861): each block of
/// 256 elements, counted from the range's first, has the largest magnitude of its moments beside
/// them (absmax, one float a block), and every byte stands for a number of the map times that. The
/// update computes in fp32 with the moments before they are rounded. Ranges with fp32 moments are
/// updated as adamw does. Otherwise as adamw. `codes`: dynamic_codes(), in the memory that the
/// update works on.
void adamw_8bit_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                          const AdamW8bitSettings& settings, const DynamicCodes* codes);
/// Of one chunk of the table alone: what a CPU's threads share.
void adamw_8bit_reference_chunk(const UpdateTable& table, std::int64_t chunk, WeightKind kind,
                                const UpdateScalars& scalars, const AdamW8bitSettings& settings,
                                const DynamicCodes* codes);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t adamw_8bit(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AdamW8bitSettings& settings, const DynamicCodes* codes,
                       cudaStream_t stream);
#endif

}  // namespace trainx::kernels
