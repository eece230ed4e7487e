#include "execute/cuda/gpu_sums.hpp"
#include "gpu/gpu_error.hpp"
#include <algorithm>

namespace trainx::execute {
namespace {

constexpr const char* measuring = "measuring the network";

}  // namespace

GpuSums::GpuSums(comm::Control& control, const std::vector<int>& members)
    : stream_(gpu::make_stream(measuring)), memory_(gpu::allocate_device(most_bytes, measuring)) {
  gpu::require(cudaMemsetAsync(memory_, 0, most_bytes, stream_), measuring);
  const bool is_first = members.front() == control.rank();
  const std::vector<std::string> ids =
      control.exchange(is_first ? gpu::NcclCommunicator::make_id() : "");
  const auto place = std::ranges::find(members, control.rank()) - members.begin();
  nccl_ = std::make_unique<gpu::NcclCommunicator>(ids.at(static_cast<std::size_t>(members.front())),
                                                  static_cast<int>(place),
                                                  static_cast<int>(members.size()));
}

void GpuSums::sum(std::int64_t bytes) const {
  nccl_->all_reduce(memory_, bytes / size_of(DType::f32), DType::f32, stream_);
  gpu::require(cudaStreamSynchronize(stream_), measuring);
}

}  // namespace trainx::execute
