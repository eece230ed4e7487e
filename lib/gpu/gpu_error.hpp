#pragma once
#include <cuda_runtime_api.h>
#include <exception>
#include <optional>
#include <string>
#include "core/error.hpp"

namespace trainx::gpu {

/// A GPU, its driver or one of its libraries cannot do what was asked: exit code 69, or 71 where
/// device memory is what is missing.
class GpuError : public UserError {
 public:
  using UserError::UserError;
};

/// The GPU, or a kernel on it, failed: every later call of this process fails, whatever it asks. A
/// new process may go on (exit code 69).
class DeviceLost : public GpuError {
 public:
  /// `when`: "at step 3"; empty: not known. `noticed`: what was asked for when the error came to
  /// light, which need not be its cause.
  DeviceLost(cudaError_t error, const std::string& when, const std::string& noticed = "");
  /// The same, where the launch that failed is known.
  DeviceLost(const DeviceLost& lost, const std::string& instruction);
  cudaError_t error() const { return error_; }

 private:
  cudaError_t error_;
};

/// Errors after which the context is of no use.
bool is_loss(cudaError_t error);
/// How errors call this process's GPU from here on: "GPU 0 (NVIDIA H200)".
void name_device(const std::string& name);
/// The error by which this process has lost its GPU, asked of the driver; nothing: it works.
std::optional<cudaError_t> loss_of_device();
/// DeviceLost where the GPU is lost by now.
void throw_if_lost(const std::string& noticed);
/// Of a library whose call failed for reasons of its own: DeviceLost where the GPU is lost, else
/// GpuError with the sentence, and 71 where hardly any memory of the GPU is free.
[[noreturn]] void throw_library_error(ExitCode code, const std::string& sentence);

[[noreturn]] void throw_cuda_error(cudaError_t error, const std::string& doing);
/// `doing` in the sentence: "cannot tune GEMM ...".
inline void require(cudaError_t error, const std::string& doing) {
  if (error != cudaSuccess) throw_cuda_error(error, doing);
}

/// Calls f(), which may run code that blames itself for a GPU that is lost.
template <class F>
void with_device(const std::string& doing, const F& f) {
  try {
    f();
  } catch (const std::exception&) {
    throw_if_lost(doing);
    throw;
  }
}

}  // namespace trainx::gpu
