// Memory of a GPU for what the user's modules allocate.
#pragma once
#include "gpu/first_fit.hpp"
#include "gpu/resources.hpp"
#include "operations/attention/torch_cuda.hpp"
#include <cstdint>
#include <map>
#include <optional>

namespace trainx::operations::cuda {

/// A piece of the plan, which does not grow.
class PlannedModuleMemory final : public TorchMemory {
 public:
  PlannedModuleMemory(void* memory, std::int64_t bytes) : pieces_(memory, bytes) {}
  void* take(std::int64_t bytes) override { return pieces_.take(bytes); }
  void give(void* block) override { pieces_.give(block); }
  std::int64_t used_bytes() const override { return pieces_.used_bytes(); }

 private:
  gpu::FirstFit pieces_;
};

/// Memory that the driver is asked for piece by piece, and counted. What is given back is kept for
/// the next of about its size: the driver takes longer than most operators.
class MeasuredModuleMemory final : public TorchMemory {
 public:
  ~MeasuredModuleMemory() override;
  void* take(std::int64_t bytes) override;
  void give(void* block) override;
  std::int64_t used_bytes() const override { return used_; }
  /// Since it was reset.
  std::int64_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = used_; }
  /// From here on pieces come from one of `bytes` bytes, as a plan has it: a stream that is
  /// captured allows no other. Throws GpuError 71.
  void reserve(std::int64_t bytes);
  void release_reserve();

 private:
  struct Piece {
    std::int64_t asked = 0, bytes = 0;
  };
  void* piece_of(std::int64_t bytes);
  void release_kept();

  std::map<void*, Piece> pieces_;            // by address
  std::multimap<std::int64_t, void*> kept_;  // by bytes
  gpu::DeviceMemory reserve_memory_;
  std::optional<gpu::FirstFit> reserve_;
  std::int64_t used_ = 0, peak_ = 0;
};

}  // namespace trainx::operations::cuda
