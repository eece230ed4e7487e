#pragma once
#include "gpu/attention.hpp"
#include "gpu/gemm.hpp"
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
};

}  // namespace trainx::ops
