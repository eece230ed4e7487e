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
  /// `main`: the stream that work is forked from and joined to. `space.stream` and its workspace are this one's alone, as is `handed`, memory for what
  /// the main stream hands over.
  SideStream(cudaStream_t main, const gpu::StreamSpace& space, DeviceRange handed);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Where to launch work that reads and writes these, after all that the main stream has been given so far.
  const gpu::StreamSpace& fork(std::initializer_list<DeviceRange> reads, std::initializer_list<DeviceRange> writes);
  /// Before the main stream is given work that writes or reads these: makes it wait where work aside reads or writes the same bytes.
  void before_write(DeviceRange range);
  void before_read(DeviceRange range);
  void join();
  /// Memory for `bytes` that the main stream writes and work aside reads, free of what earlier work aside still reads (it waits where there is no other
  /// such memory); null where there is not as much.
  std::byte* hand_over(std::int64_t bytes);

 private:
  cudaStream_t main_;
  gpu::StreamSpace space_;
  DeviceRange handed_;
  std::int64_t next_ = 0;               // of handed_, used as a ring
  cudaEvent_t forked_ = nullptr, joined_ = nullptr;
  std::vector<DeviceRange> reads_, writes_;     // of work that was not joined yet
};

}  // namespace trainx::ops
