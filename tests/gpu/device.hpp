// A GPU for the tests of kernels, where there is one, and memory on it.
#pragma once
#include <cuda_runtime_api.h>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace trainx::kernels {

inline void require_success(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

inline bool gpu_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
/// 90 for compute capability 9.0.
inline int compute_capability() {
  int major = 0, minor = 0;
  require_success(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "device");
  require_success(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "device");
  return 10 * major + minor;
}

/// At the start of each test.
#define TRAINX_NEEDS_GPU() \
  if (!trainx::kernels::gpu_present()) TRAINX_SKIP(trainx::no_gpu)
#define TRAINX_NEEDS_FP8()                        \
  TRAINX_NEEDS_GPU();                             \
  if (trainx::kernels::compute_capability() < 89) \
  TRAINX_SKIP("fp8 takes a GPU of compute capability 8.9")
#define TRAINX_NEEDS_HOPPER()                      \
  TRAINX_NEEDS_GPU();                              \
  if (trainx::kernels::compute_capability() != 90) \
  TRAINX_SKIP("takes a GPU of compute capability 9.0")

/// A copy of host elements on the device, `shift` elements past an aligned address, between guards
/// that the kernels must leave alone.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& host, std::size_t shift = 0)
      : size_(host.size()), shift_(shift) {
    std::vector<unsigned char> bytes(guard + (shift + size_) * sizeof(T) + guard, guard_byte);
    if (size_ > 0)
      std::memcpy(bytes.data() + guard + shift * sizeof(T), host.data(), size_ * sizeof(T));
    bytes_ = bytes.size();
    require_success(cudaMalloc(&memory_, bytes_), "cudaMalloc");
    require_success(cudaMemcpy(memory_, bytes.data(), bytes_, cudaMemcpyHostToDevice),
                    "cudaMemcpy");
  }
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice(OnDevice&& o) noexcept
      : memory_(o.memory_), size_(o.size_), shift_(o.shift_), bytes_(o.bytes_) {
    o.memory_ = nullptr;
  }

  T* data() const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(memory_) + guard) + shift_;
  }
  /// The elements; fails where bytes outside them were written.
  std::vector<T> host() const {
    std::vector<unsigned char> bytes(bytes_);
    require_success(cudaDeviceSynchronize(), "kernel");
    require_success(cudaMemcpy(bytes.data(), memory_, bytes_, cudaMemcpyDeviceToHost),
                    "cudaMemcpy");
    const std::size_t begin = guard + shift_ * sizeof(T), end = begin + size_ * sizeof(T);
    for (std::size_t i = 0; i < bytes_; ++i)
      if ((i < begin || i >= end) && bytes[i] != guard_byte)
        FAIL("a kernel wrote byte " << static_cast<long>(i) - static_cast<long>(begin) << " of "
                                    << end - begin);
    std::vector<T> out(size_);
    if (size_ > 0) std::memcpy(out.data(), bytes.data() + begin, size_ * sizeof(T));
    return out;
  }

 private:
  static constexpr std::size_t guard = 256;
  static constexpr unsigned char guard_byte = 0xa5;
  void* memory_ = nullptr;
  std::size_t size_ = 0, shift_ = 0, bytes_ = 0;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace trainx::kernels
