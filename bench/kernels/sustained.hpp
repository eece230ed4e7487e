// Times of calls one after the other for a fifth of a second at a time, after as long a time to
// warm up: the power limit acts as in training.
#pragma once
#include <cuda_runtime_api.h>
#include <algorithm>
#include <stdexcept>
#include <string>

namespace trainx::bench {

/// Milliseconds of one `call`, which launches on `stream`.
template <class Call>
double sustained_ms(cudaStream_t stream, const Call& call) {
  const auto succeeded = [](cudaError_t error) {
    if (error != cudaSuccess)
      throw std::runtime_error(std::string("sustained_ms: ") + cudaGetErrorString(error));
  };
  cudaEvent_t begin = nullptr, end = nullptr;
  succeeded(cudaEventCreate(&begin));
  succeeded(cudaEventCreate(&end));
  const auto time = [&](int repeats) {
    succeeded(cudaEventRecord(begin, stream));
    for (int i = 0; i < repeats; ++i) call();
    succeeded(cudaEventRecord(end, stream));
    succeeded(cudaEventSynchronize(end));
    float ms = 0;
    succeeded(cudaEventElapsedTime(&ms, begin, end));
    return ms / static_cast<float>(repeats);
  };
  call();
  const int repeats = std::max(3, static_cast<int>(200 / time(3)));
  time(repeats);
  const double ms = time(repeats);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms;
}

}  // namespace trainx::bench
