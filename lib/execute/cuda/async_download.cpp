#include "execute/cuda/async_download.hpp"
#include "core/blocked_signals.hpp"
#include "gpu/gpu_error.hpp"
#include <algorithm>
#include <sys/mman.h>

namespace trainx::execute {

using gpu::require;

namespace {

// pinned at once: other threads' calls of the driver wait for so long
constexpr std::int64_t part_bytes = std::int64_t{256} << 20;

}  // namespace

AsyncDownload::AsyncDownload(Arena& to, const std::byte* from, const std::vector<Range>& ranges)
    : to_(to), from_(from) {
  for (const Range& range : ranges)
    for (std::int64_t at = range.begin; at < range.end; at += part_bytes)
      parts_.push_back({at, std::min(range.end, at + part_bytes)});
  require(cudaGetDevice(&gpu_), "this rank's GPU");
  stream_ = gpu::make_stream("stream of downloads");
  ready_ = gpu::make_event("event of downloads");
  for (gpu::Event* event : {&begun_, &done_}) {
    *event = gpu::make_event("event of downloads", gpu::EventTiming::on);
    require(cudaEventRecord(*event, stream_), "event of downloads");
  }
  const BlockedSignals blocked;  // signals are the main thread's
  pinning_ = std::thread([this] { pin(); });
}

AsyncDownload::~AsyncDownload() {
  ends_ = true;
  if (pinning_.joinable()) pinning_.join();
  cudaStreamSynchronize(stream_);
  for (std::size_t p = 0; p < pinned_; ++p) cudaHostUnregister(to_.data() + parts_[p].begin);
}

void AsyncDownload::pin() {
  if (cudaSetDevice(gpu_) != cudaSuccess) return;
  for (; pinned_ < parts_.size() && !ends_; ++pinned_) {
    const Range& part = parts_[pinned_];
    std::byte* const at = to_.data() + part.begin;
    const auto bytes = static_cast<std::size_t>(part.end - part.begin);
    // advice: pinning finds the pages there, or makes them
    madvise(at, bytes, MADV_POPULATE_WRITE);
    if (cudaHostRegister(at, bytes, cudaHostRegisterDefault) != cudaSuccess) {
      cudaGetLastError();
      return;
    }
  }
}

void AsyncDownload::begin(cudaStream_t stream) {
  if (pinning_.joinable()) pinning_.join();
  require(cudaEventRecord(ready_, stream), "weights from the GPU");
  require(cudaStreamWaitEvent(stream_, ready_, 0), "weights from the GPU");
  require(cudaEventRecord(begun_, stream_), "weights from the GPU");
  for (const Range& part : parts_)
    require(cudaMemcpyAsync(to_.data() + part.begin, from_ + part.begin,
                            static_cast<std::size_t>(part.end - part.begin), cudaMemcpyDeviceToHost,
                            stream_),
            "weights from the GPU");
  require(cudaEventRecord(done_, stream_), "weights from the GPU");
}

double AsyncDownload::end() {
  require(cudaSetDevice(gpu_), "this rank's GPU");
  require(cudaEventSynchronize(done_), "weights from the GPU");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, begun_, done_), "weights from the GPU");
  return static_cast<double>(ms) / 1e3;
}

void AsyncDownload::hold(cudaStream_t stream) const {
  cudaStreamCaptureStatus status{};
  require(cudaStreamIsCapturing(stream, &status), "stream of a step");
  require(cudaStreamWaitEvent(stream, done_,
                              status == cudaStreamCaptureStatusActive ? cudaEventWaitExternal
                                                                      : cudaEventWaitDefault),
          "weights that are being read");
}

}  // namespace trainx::execute
