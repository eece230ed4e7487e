// A second stream for work that nothing on the first waits for soon: weight gradients, while the gradient of the input goes on. Where launches are too
// small to fill the chip both run at once.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>
#include "gpu/stream_space.hpp"

namespace trainx::ops {

/// Bytes [begin, end) of device memory.
struct DeviceRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

class SideStream {
 public:
  /// `main`: the stream that work is forked from and joined to. `space.stream` and its workspace are this one's alone.
  SideStream(cudaStream_t main, const gpu::StreamSpace& space);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Where to launch work that reads and writes these, after all that the main stream has been given so far.
  const gpu::StreamSpace& fork(std::initializer_list<DeviceRange> reads, DeviceRange writes);
  /// Before the main stream is given work that writes or reads these: makes it wait where work aside reads or writes the same bytes.
  void before_write(DeviceRange range);
  void before_read(DeviceRange range);
  void join();

 private:
  cudaStream_t main_;
  gpu::StreamSpace space_;
  cudaEvent_t forked_ = nullptr, joined_ = nullptr;
  std::vector<DeviceRange> reads_, writes_;     // of work that was not joined yet
};

}  // namespace trainx::ops
