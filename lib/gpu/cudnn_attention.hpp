// Attention by cuDNN's fused kernels, reached through its frontend (header-only): the only file
// that sees the frontend is cudnn_attention.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include "gpu/attention.hpp"

namespace trainx::gpu {

class CudnnAttention {
 public:
  /// Loads cuDNN. Throws GpuError 69 where it is missing or finds no GPU.
  CudnnAttention();
  ~CudnnAttention();

  std::int64_t forward_workspace_bytes(const AttentionProblem& p);
  std::int64_t backward_workspace_bytes(const AttentionProblem& p);
  /// Rows past a length are left undefined.
  void forward(const AttentionProblem& p, const void* qkv, const std::int32_t* lengths, void* out,
               float* lse, const StreamSpace& space);
  void backward(const AttentionProblem& p, const void* qkv, const std::int32_t* lengths,
                const void* out, const float* lse, const void* d_out, void* d_qkv,
                const StreamSpace& space);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainx::gpu
