#pragma once
#include "program/program.hpp"
#include "tensor/tensor.hpp"
#include <functional>
#include <memory>
#include <string>

namespace trainx::model::custom {

/// What a model is measured on: computes, and counts what LibTorch's operators allocate.
class MeasuredDevice {
 public:
  virtual ~MeasuredDevice() = default;
  virtual Place place() const = 0;
  /// The cudaStream_t that it computes on; null on a CPU.
  virtual void* stream() const { return nullptr; }
  /// Runs f as an executor runs an instruction.
  virtual void compute(const std::function<void()>& f) = 0;
  virtual program::Bytes used_bytes() const = 0;
  virtual program::Bytes peak_bytes() const = 0;  // since it was reset
  virtual void reset_peak() = 0;
  /// What a plan says where so much was measured: pieces of memory leave gaps, on a GPU.
  virtual program::Bytes planned(program::Bytes measured) const = 0;
  /// Are steps to be replayed as CUDA graphs?
  virtual bool captures() const = 0;
  /// Captures f as a CUDA graph, with `bytes` of memory for what it allocates. Why that fails, as
  /// the end of a sentence: "calls aten::nonzero, ..."; empty: it does not, and `replay_s` is what
  /// a replay takes.
  virtual std::string try_capture(program::Bytes bytes, const std::function<void()>& f,
                                  double& replay_s) = 0;
  /// Until all that was computed is done.
  virtual void wait() {}
};

/// The allocator's meter (tensor/allocator_meter.hpp) must be installed.
std::unique_ptr<MeasuredDevice> measured_cpu();

/// How a run computes on a GPU.
struct MeasuredGpuOptions {
  bool tf32 = false, deterministic = false;
  bool captures = true;  // steps, as CUDA graphs, where that can be
};
/// The first GPU that this process sees. Throws UserError 69 where there is none that can be used.
std::unique_ptr<MeasuredDevice> measured_gpu(const MeasuredGpuOptions& how);
namespace cuda {
std::unique_ptr<MeasuredDevice> measured_gpu(const MeasuredGpuOptions& how);
}

}  // namespace trainx::model::custom
