#pragma once
#include "comm/control.hpp"
#include "gpu/nccl.hpp"
#include "gpu/resources.hpp"
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::execute {

/// This rank's GPU, the current device, in sums over NCCL among some of the ranks.
class GpuSums {
 public:
  static constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
  /// All ranks make theirs at the same time. Throws GpuError 69, or 71 without memory for it.
  GpuSums(comm::Control& control, const std::vector<int>& members);
  /// Of floats; returns when the sum is there.
  void sum(std::int64_t bytes) const;

 private:
  gpu::Stream stream_;
  gpu::DeviceMemory memory_;
  std::unique_ptr<gpu::NcclCommunicator> nccl_;
};

}  // namespace trainx::execute
