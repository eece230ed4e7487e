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
  /// Runs f as an executor runs an instruction.
  virtual void compute(const std::function<void()>& f) = 0;
  virtual program::Bytes used_bytes() const = 0;
  virtual program::Bytes peak_bytes() const = 0;  // since it was reset
  virtual void reset_peak() = 0;
  /// What a plan says where so much was measured: pieces of memory leave gaps, on a GPU.
  virtual program::Bytes planned(program::Bytes measured) const = 0;
  /// Captures f as a CUDA graph, with `bytes` of memory for what it allocates. Why that fails, as
  /// the end of a sentence: "calls aten::nonzero, ..."; empty: it does not, or there are no graphs.
  virtual std::string try_capture(program::Bytes bytes, const std::function<void()>& f) = 0;
};

/// The allocator's meter (tensor/allocator_meter.hpp) must be installed.
std::unique_ptr<MeasuredDevice> measured_cpu();

/// The first GPU that this process sees. `tf32`, `deterministic`: as the run computes. Throws
/// UserError 69 where there is none that can be used.
std::unique_ptr<MeasuredDevice> measured_gpu(bool tf32, bool deterministic);
namespace cuda {
std::unique_ptr<MeasuredDevice> measured_gpu(bool tf32, bool deterministic);
}

}  // namespace trainx::model::custom
