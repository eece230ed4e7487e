// What the CUDA runtime hands out, given back when its owner ends: memory, streams, events, graphs.
#pragma once
#include "gpu/gpu_error.hpp"
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace trainx::gpu {

/// Owns a handle; null where it owns none. Moves, and is used as the handle.
template <class Handle, cudaError_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) destroy(handle_);
  }
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor): it is one
  /// Of memory: as elements of T.
  template <class T>
  T* as() const {
    return static_cast<T*>(handle_);
  }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using DeviceMemory = Owned<void*, cudaFree>;
using PinnedMemory = Owned<void*, cudaFreeHost>;

// All throw GpuError, with what it is for in the sentence.

/// One that does not wait for the default stream. `priority`: of
/// cudaDeviceGetStreamPriorityRange.
inline Stream make_stream(const std::string& what, int priority = 0) {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), what);
  return Stream(stream);
}

enum class EventTiming : std::uint8_t { off, on };
inline Event make_event(const std::string& what, EventTiming timing = EventTiming::off) {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(
              &event, timing == EventTiming::on ? cudaEventDefault : cudaEventDisableTiming),
          what);
  return Event(event);
}

/// At least a byte of the GPU that is current.
inline DeviceMemory allocate_device(std::int64_t bytes, const std::string& what) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), what);
  return DeviceMemory(memory);
}

/// Memory of the host that a GPU reads and writes by itself.
inline PinnedMemory allocate_pinned(std::int64_t bytes, const std::string& what) {
  void* memory = nullptr;
  require(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault), what);
  return PinnedMemory(memory);
}

}  // namespace trainx::gpu
