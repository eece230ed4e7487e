// Collectives between GPUs: NCCL, found when it is first needed.
#pragma once
#include "core/dtype.hpp"
#include <cuda_runtime_api.h>
#include <cstdint>
#include <string>

namespace trainx::gpu {

/// This process's GPU among those of the ranks. Calls are enqueued on a stream, also of one that is
/// being captured, in the same order on all ranks; each throws GpuError 69 with NCCL's own words.
/// (NCCL 2.28, docs: Collective Communication Functions, User Buffer Registration is not used:
/// measured no faster.)
class NcclCommunicator {
 public:
  /// What rank 0 makes and all ranks are given.
  static std::string make_id();
  /// All ranks at the same time; the current device is this rank's. `processors`: how many of the
  /// GPU's the process's communicators may take, unless NCCL_MAX_CTAS says it.
  NcclCommunicator(const std::string& id, int rank, int world_size, int processors = few);
  /// Measured on H200s: as fast beside a step as all, and leaves compute its processors.
  static constexpr int few = 16;
  /// Where copies make the gathers (PeerMemory), sums alone take them: Llama 3.1 8B in zero3 takes
  /// 401 ms a step with these on two H100s and 412 with few.
  static constexpr int many = 32;
  ~NcclCommunicator();
  int size() const { return ranks_; }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// In place; elements in device memory. f32, f64, bf16.
  void all_reduce(void* data, std::int64_t elements, DType dtype, cudaStream_t stream) const;
  /// The sum arrives at `root`, elsewhere the data stays.
  /// The largest of all ranks' numbers; which of NaN and a number is not said.
  void all_reduce_max(float* data, std::int64_t elements, cudaStream_t stream) const;
  void reduce(void* data, std::int64_t elements, DType dtype, int root, cudaStream_t stream) const;
  void broadcast(void* data, std::int64_t bytes, int root, cudaStream_t stream) const;
  /// `full`: a shard of each rank after one another; each rank gets the sum of its own.
  void reduce_scatter(const void* full, void* shard, std::int64_t shard_elements, DType dtype,
                      cudaStream_t stream) const;
  void all_gather(const void* shard, void* full, std::int64_t shard_bytes,
                  cudaStream_t stream) const;
  /// `out`: a slot for each rank after one another; `in`: those that the ranks have for this one.
  void all_to_all(const void* out, void* in, std::int64_t slot_bytes, cudaStream_t stream) const;
  void send(const void* data, std::int64_t bytes, int to, cudaStream_t stream) const;
  void recv(void* data, std::int64_t bytes, int from, cudaStream_t stream) const;

  /// Calls within are one launch.
  class Together {
   public:
    Together();
    ~Together() noexcept(false);  // throws what the launch met
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
  };

 private:
  void* communicator_ = nullptr;
  int ranks_ = 1;
};

}  // namespace trainx::gpu
