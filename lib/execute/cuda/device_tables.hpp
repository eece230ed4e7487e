#pragma once
#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <vector>
#include "gpu/resources.hpp"

namespace trainx::execute {

/// Device memory beside the arena: what launches look up. It lives as long as this, and counts in
/// `taken`.
class DeviceTables {
 public:
  explicit DeviceTables(std::int64_t& taken) : taken_(taken) {}
  ~DeviceTables() { taken_ -= bytes_; }
  DeviceTables(const DeviceTables&) = delete;
  DeviceTables& operator=(const DeviceTables&) = delete;

  std::byte* take(std::int64_t bytes) {
    owned_.push_back(gpu::allocate_device(bytes, "device memory for tables"));
    bytes_ += bytes;
    taken_ += bytes;
    return owned_.back().as<std::byte>();
  }
  template <class T>
  const T* copy(const std::vector<T>& host) {
    const auto bytes = host.size() * sizeof(T);
    std::byte* const p = take(static_cast<std::int64_t>(bytes));
    gpu::require(cudaMemcpy(p, host.data(), bytes, cudaMemcpyHostToDevice), "table to the GPU");
    return reinterpret_cast<const T*>(p);
  }

 private:
  std::int64_t& taken_;
  std::int64_t bytes_ = 0;
  std::vector<gpu::DeviceMemory> owned_;
};

}  // namespace trainx::execute
