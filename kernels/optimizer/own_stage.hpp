// Updates by a rule that is not trainx's: elements of ranges are laid out one after the other for
// it, and what it made of them is put back.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// What a rule is given of a step beside elements.
struct OwnStep {
  double lr = 0;
  double step = 0;  // counts updates: 1 in the first one
  // 0: the step is not finite, and nothing is put back
  std::int64_t finite = 0;
};

/// A range of the weights; in the stage its elements begin at `at`.
struct StagedRange {
  UpdateRange range;  // without states
  std::int64_t at = 0;
  float* const* states = nullptr;  // [OwnStage::states] of this range, in memory of the device
};

/// In memory of the device, like StagedRange and chunks: elements of all ranges. States follow each
/// other, `stride` elements each.
struct OwnStage {
  OwnStep* step = nullptr;
  float *gradients = nullptr, *weights = nullptr, *states = nullptr;
  std::int64_t stride = 0;
  int state_count = 0;
  // of the host, pinned: what was put back that is not finite, an own_fault; 0: nothing
  std::int64_t* fault = nullptr;
};

/// Chunks are of the ranges, as an UpdateTable's.
struct StageTable {
  const StagedRange* ranges = nullptr;
  const Chunk* chunks = nullptr;
  std::int64_t chunk_count = 0;
};

/// The update's number and what is not finite: 0 weights, k + 1 its state k.
TRAINX_HOST_DEVICE std::int64_t own_fault(std::int64_t update, int what) {
  return update << 16 | what;
}
inline std::int64_t update_of_fault(std::int64_t fault) { return fault >> 16; }
inline int what_of_fault(std::int64_t fault) { return static_cast<int>(fault & 0xffff); }

/// Exact weights, gradients of the mean loss after clipping (0 where the step is not finite) and
/// states as they are.
void own_stage_reference(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const ScaleSettings& scale, const OwnStage& to);
/// Weights, rounded as their kind says, and states.
void own_unstage_reference(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                           const OwnStage& from);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; return the status of the launch. The same bits as the references.
cudaError_t own_stage(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const ScaleSettings& scale, const OwnStage& to, cudaStream_t stream);
cudaError_t own_unstage(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                        const OwnStage& from, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
