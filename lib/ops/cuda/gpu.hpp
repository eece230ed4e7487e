#pragma once
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
#include "gpu/timeline.hpp"
#include "kernels/fold_memory.hpp"
#include "ops/cuda/batch_needs.hpp"
#include "ops/cuda/side_stream.hpp"

namespace trainx::ops {

template <class Tensor>
DeviceRange range_of(const Tensor& t) {
  if (!t.defined()) return {};
  const auto* begin = static_cast<const std::byte*>(t.const_data_ptr());
  return {begin, begin + t.nbytes()};
}

/// What operations on a GPU are launched with.
struct Gpu {
  gpu::Gemm* gemm = nullptr;
  gpu::Attention* attention = nullptr;
  gpu::StreamSpace space;               // stream, and the workspace of whatever is launched
  gpu::StreamSpace gemm_space;          // the same stream, with as much of the workspace as matrix products are tuned with
  kernels::FoldMemory fold;
  void* sort = nullptr;                 // scratch of the embedding's backward
  bool deterministic = false;
  BatchNeeds needs;                     // of the step that is launched
  gpu::Timeline* timeline = nullptr;    // of a step that is timed
  SideStream* side = nullptr;           // where small launches are to overlap; not in a step that is timed

  /// Call before a launch on the stream that writes these tensors (undefined ones do not count).
  template <class... Tensors>
  void writes(const Tensors&... tensors) const {
    if (side) (side->before_write(range_of(tensors)), ...);
  }
  /// Call after each launch.
  void done(Work work, const std::string& detail = {}) const {
    if (timeline) timeline->mark(work, detail);
  }
};

}  // namespace trainx::ops
