// LibTorch's own CUDA half (libtorch_cuda.so), for operators that nothing else here has. trainx
// does not link it, which would cost every start 0.15 s and 235 MB: it is loaded from beside
// libtorch_cpu.so when it is first needed, and its kernels register themselves with the dispatcher
// that libtorch_cpu has.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include "core/dtype.hpp"
#include "gpu/first_fit.hpp"

namespace trainx::operations::cuda {

/// Batched matrix products of LibTorch's, by cuBLAS.
struct TorchProducts {
  DType type;
  // whether fp32 operands may be rounded to tf32: left alone, LibTorch 2.11 was seen to round them
  bool tf32;
};

/// How modules of the user's own compute.
struct TorchModules {
  bool tf32 = false;  // products and convolutions of fp32 may be rounded to it
  // operators without a deterministic variant are refused
  bool deterministic = false;
};

/// Memory of LibTorch's operators that is no workspace: tensors may stay in it between calls.
/// Called by one thread at a time.
class TorchMemory {
 public:
  virtual ~TorchMemory() = default;
  /// Null: no piece of that size is left.
  virtual void* take(std::int64_t bytes) = 0;
  virtual void give(void* block) = 0;
  virtual std::int64_t used_bytes() const = 0;
};

/// One at a time in a process, for one stream of the current GPU and the thread that makes it.
///
/// What LibTorch's operators allocate, temporaries and results, lies in `memory` and nowhere else:
/// the run's workspace, which is planned and which one instruction at a time uses. So a step may be
/// captured: no cudaMalloc is met on the way, the addresses are those of memory that lives as long
/// as the device, and replays, other graphs and steps that are not captured use it one after the
/// other, on one stream. Results are copied out before a call ends.
class TorchCuda {
 public:
  /// `products`: which will be used, if any: cuBLAS then keeps a part at the memory's end. Throws
  /// GpuError 69.
  TorchCuda(cudaStream_t stream, void* memory, std::int64_t bytes,
            std::optional<TorchProducts> products);
  /// For modules of the user's own, whose tensors lie in `memory`, which must outlive them. Throws
  /// GpuError 69.
  TorchCuda(cudaStream_t stream, TorchMemory& memory, const TorchModules& how);
  ~TorchCuda();
  TorchCuda(const TorchCuda&) = delete;

  /// The one that there is; null: none.
  static TorchCuda* current();
  cudaStream_t stream() const { return stream_; }

  /// At the memory's end, for good; all before it is free between calls.
  std::int64_t kept_bytes() const { return kept_bytes_; }

  /// Runs f() with LibTorch's operators going to the stream. `doing` in the sentence where one
  /// fails: "attention by flash".
  void run(const char* doing, const std::function<void()>& f);
  /// While one lives LibTorch's operators of this thread go to the stream. `doing` is whom a
  /// request for more memory than there is names.
  class Call {
   public:
    Call(TorchCuda& torch, std::string doing);
    ~Call();
    Call(const Call&) = delete;

   private:
    TorchCuda& torch_;
    std::int64_t stream_before_;
    std::string doing_before_;
  };

 private:
  void* take(std::size_t bytes);
  void give(void* block);

  friend struct Hooks;
  cudaStream_t stream_;
  gpu::FirstFit memory_;
  TorchMemory* modules_ = nullptr;  // in place of memory_
  std::string doing_;
  bool starting_ = true;
  std::int64_t kept_blocks_ = 0, kept_bytes_ = 0;
};

/// Whether this machine's LibTorch has its CUDA half, and loads it: needs no GPU. Throws GpuError
/// 69 that says what is missing.
void load_torch_cuda();

}  // namespace trainx::operations::cuda
