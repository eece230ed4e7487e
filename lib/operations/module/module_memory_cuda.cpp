#include "operations/module/module_memory_cuda.hpp"
#include <algorithm>
#include <utility>

namespace trainx::operations::cuda {

MeasuredModuleMemory::~MeasuredModuleMemory() {
  release_reserve();
  for (const auto& [block, bytes] : pieces_) cudaFree(block);
}

void* MeasuredModuleMemory::take(std::int64_t bytes) {
  constexpr std::int64_t unit = gpu::FirstFit::alignment;
  const std::int64_t size = std::max<std::int64_t>(1, (bytes + unit - 1) / unit) * unit;
  if (reserve_) return reserve_->take(size);
  void* block = nullptr;
  if (const cudaError_t error = cudaMalloc(&block, static_cast<std::size_t>(size));
      error != cudaSuccess) {
    cudaGetLastError();
    throw gpu::GpuError(
        ExitCode::out_of_memory,
        "the GPU refuses " + std::to_string(size) + " bytes beside the " + std::to_string(used_) +
            " that a micro-batch of the model's modules holds; lower "
            "batch.micro_batch_size, or end what else runs on the GPU (nvidia-smi)");
  }
  pieces_[block] = size;
  used_ += size;
  peak_ = std::max(peak_, used_);
  return block;
}

void MeasuredModuleMemory::give(void* block) {
  const auto found = pieces_.find(block);
  if (found == pieces_.end()) {
    if (reserve_) reserve_->give(block);
    return;
  }
  used_ -= found->second;
  pieces_.erase(found);
  if (reserve_)
    to_free_.push_back(block);  // not while a stream is captured
  else
    cudaFree(block);
}

void MeasuredModuleMemory::reserve(std::int64_t bytes) {
  void* memory = nullptr;
  gpu::require(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "memory planned for modules");
  reserve_memory_ = gpu::DeviceMemory(memory);
  reserve_.emplace(memory, bytes);
}

void MeasuredModuleMemory::release_reserve() {
  reserve_.reset();
  reserve_memory_ = gpu::DeviceMemory();
  for (void* block : std::exchange(to_free_, {})) cudaFree(block);
}

}  // namespace trainx::operations::cuda
