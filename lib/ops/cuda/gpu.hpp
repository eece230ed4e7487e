#pragma once
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/timeline.hpp"
#include "kernels/fold_memory.hpp"

namespace trainx::ops {

/// What operations on a GPU are launched with.
struct Gpu {
  gpu::Gemm* gemm = nullptr;
  gpu::Attention* attention = nullptr;
  gpu::StreamSpace space;
  kernels::FoldMemory fold;
  void* sort = nullptr;                 // scratch of the embedding's backward
  bool deterministic = false;
  gpu::Timeline* timeline = nullptr;    // of a step that is timed

  /// Call after each launch.
  void done(Work work, const std::string& detail = {}) const {
    if (timeline) timeline->mark(work, detail);
  }
};

}  // namespace trainx::ops
