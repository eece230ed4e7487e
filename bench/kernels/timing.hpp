// Times of kernels on the GPU at hand, as they run in training: in a CUDA graph, back to back, on
// operands that the L2 cache does not hold from the last round.
#pragma once
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainx::bench {

inline void require_success(cudaError_t error, const std::string& what) {
  if (error != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(error));
}

/// Memory of the device, handed out from one allocation and given back all at once.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    require_success(cudaMalloc(&memory_, bytes), "cudaMalloc");
  }
  ~Arena() { cudaFree(memory_); }
  Arena(const Arena&) = delete;
  template <class T>
  T* take(std::int64_t elements) {
    const std::size_t at = (taken_ + 255) / 256 * 256;
    taken_ = at + static_cast<std::size_t>(elements) * sizeof(T);
    if (taken_ > bytes_) throw std::runtime_error("arena: too small");
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + at);
  }
  void clear() { taken_ = 0; }
  std::size_t free() const { return bytes_ - taken_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0, taken_ = 0;
};

/// Median milliseconds of one launch(round); rounds differ in their operands.
inline double median_ms(const std::function<cudaError_t(int round, cudaStream_t)>& launch,
                        int rounds, double at_least_ms = 30) {
  cudaStream_t stream;
  require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (int r = 0; r < rounds; ++r) require_success(launch(r, stream), "launch");
  require_success(cudaStreamSynchronize(stream), "kernel");
  const int launches = std::max(rounds, 16) / rounds * rounds;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < launches; ++i) require_success(launch(i % rounds, stream), "launch");
  require_success(cudaStreamEndCapture(stream, &graph), "capture");
  require_success(cudaGraphInstantiate(&exec, graph, 0), "graph");
  cudaEvent_t begin, end;
  require_success(cudaEventCreate(&begin), "event");
  require_success(cudaEventCreate(&end), "event");
  std::vector<double> times;
  double total = 0;
  require_success(cudaGraphLaunch(exec, stream), "graph");
  while (times.size() < 5 || (total < at_least_ms && times.size() < 200)) {
    require_success(cudaEventRecord(begin, stream), "event");
    require_success(cudaGraphLaunch(exec, stream), "graph");
    require_success(cudaEventRecord(end, stream), "event");
    require_success(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    require_success(cudaEventElapsedTime(&ms, begin, end), "event");
    times.push_back(ms / launches);
    total += ms;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

}  // namespace trainx::bench
