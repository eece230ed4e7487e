#pragma once
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/timeline.hpp"
#include "kernels/fold_memory.hpp"
#include "operations/common/batch_needs.hpp"

namespace trainx::operations {

namespace cuda {
class TorchCuda;
}

/// What operations on a GPU are launched with.
struct Gpu {
  gpu::Gemm* gemm = nullptr;
  gpu::Attention* attention = nullptr;
  cuda::TorchCuda* torch = nullptr;  // where LibTorch computes attention
  gpu::StreamSpace space;            // stream, and the workspace of whatever is launched
  // the same stream, with as much of the workspace as matrix products are tuned with
  gpu::StreamSpace gemm_space;
  kernels::FoldMemory fold;
  void* sort = nullptr;  // scratch of the embedding's backward
  bool deterministic = false;
  bool tf32 = false;                  // of matrix products in fp32
  BatchNeeds needs;                   // of the step that is launched
  gpu::Timeline* timeline = nullptr;  // of a step that is timed

  /// Call after each launch.
  void done(Work work, const std::string& detail = {}) const {
    if (timeline) timeline->mark(work, detail);
  }
};

}  // namespace trainx::operations
