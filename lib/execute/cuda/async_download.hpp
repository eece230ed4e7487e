#pragma once
#include "gpu/resources.hpp"
#include "execute/arena.hpp"
#include <cuda_runtime_api.h>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace trainx::execute {

/// Bytes [begin, end) of an arena.
struct Range {
  std::int64_t begin = 0, end = 0;
};

/// Copies what is resident on a GPU to the host while the steps that follow compute: only their
/// first write to it waits, on the GPU, until it is read.
class AsyncDownload {
 public:
  /// `from`: on the GPU that is current, as many bytes as `to` has, of which `ranges` are copied.
  /// Both must outlive this. Pins those of `to` in the background, a part at a time; what the
  /// machine does not let it pin is copied all the same, more slowly and while begin() waits.
  AsyncDownload(Arena& to, const std::byte* from, const std::vector<Range>& ranges);
  /// Waits for a copy under way.
  ~AsyncDownload();
  AsyncDownload(const AsyncDownload&) = delete;
  AsyncDownload& operator=(const AsyncDownload&) = delete;

  /// Of what all that `stream` was given so far leaves. Throws GpuError.
  void begin(cudaStream_t stream);
  /// Until it is there, on any thread; how long the copy took. Throws GpuError.
  double end();
  /// What `stream` is given from here on comes after a copy that has begun; where the stream is
  /// captured, in each replay after the newest one.
  void hold(cudaStream_t stream) const;

 private:
  void pin();

  Arena& to_;
  std::vector<Range> parts_;  // the ranges, cut
  const std::byte* from_;
  int gpu_ = 0;
  gpu::Stream stream_;
  gpu::Event ready_, begun_, done_;
  std::atomic<bool> ends_ = false;
  std::size_t pinned_ = 0;  // of the parts, the first ones; of the thread until it is joined
  std::thread pinning_;
};

}  // namespace trainx::execute
