#pragma once
#include <cstdint>
#include <thread>

namespace trainx::architectures {

/// What a model's blocks are computed on, as far as the sizes of their memory follow from it.
struct Device {
  std::int64_t threads = std::thread::hardware_concurrency();  // of a CPU's library, whose memory
                                                               // they bound
  bool gpu = false;
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  bool deterministic = false;  // on a GPU: attention's backward then takes more memory
  bool operator==(const Device&) const = default;
};

}  // namespace trainx::architectures
