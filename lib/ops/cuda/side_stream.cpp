#include "ops/cuda/side_stream.hpp"
#include <algorithm>
#include "gpu/gpu_error.hpp"

namespace trainx::ops {
namespace {

bool meets(const std::vector<DeviceRange>& ranges, DeviceRange range) {
  return std::ranges::any_of(ranges, [&](DeviceRange r) { return r.begin < range.end && range.begin < r.end; });
}

}  // namespace

SideStream::SideStream(cudaStream_t main, const gpu::StreamSpace& space, DeviceRange handed) : main_(main), space_(space), handed_(handed) {
  gpu::require(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "event of the second stream");
  gpu::require(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming), "event of the second stream");
}

SideStream::~SideStream() {
  cudaEventDestroy(forked_);
  cudaEventDestroy(joined_);
}

const gpu::StreamSpace& SideStream::fork(std::initializer_list<DeviceRange> reads, std::initializer_list<DeviceRange> writes) {
  gpu::require(cudaEventRecord(forked_, main_), "fork to the second stream");
  gpu::require(cudaStreamWaitEvent(space_.stream, forked_, 0), "fork to the second stream");
  reads_.insert(reads_.end(), reads);
  writes_.insert(writes_.end(), writes);
  return space_;
}

void SideStream::before_write(DeviceRange range) {
  if (meets(reads_, range) || meets(writes_, range)) join();
}

void SideStream::before_read(DeviceRange range) {
  if (meets(writes_, range)) join();
}

std::byte* SideStream::hand_over(std::int64_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  const std::int64_t size = handed_.end - handed_.begin;
  if (bytes > size) return nullptr;
  if (next_ + bytes > size) next_ = 0;
  const std::byte* const begin = handed_.begin + next_;
  before_write({begin, begin + bytes});
  next_ += bytes;
  return const_cast<std::byte*>(begin);
}

void SideStream::join() {
  if (writes_.empty()) return;
  gpu::require(cudaEventRecord(joined_, space_.stream), "join of the second stream");
  gpu::require(cudaStreamWaitEvent(main_, joined_, 0), "join of the second stream");
  reads_.clear();
  writes_.clear();
}

}  // namespace trainx::ops
