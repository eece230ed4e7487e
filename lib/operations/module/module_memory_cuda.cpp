#include "operations/module/module_memory_cuda.hpp"
#include <algorithm>

namespace trainx::operations::cuda {
namespace {

void* from_driver(std::int64_t bytes) {
  void* block = nullptr;
  if (cudaMalloc(&block, static_cast<std::size_t>(bytes)) == cudaSuccess) return block;
  cudaGetLastError();
  return nullptr;
}

}  // namespace

MeasuredModuleMemory::~MeasuredModuleMemory() {
  release_reserve();
  release_kept();
  for (const auto& [block, piece] : pieces_) cudaFree(block);
}

void MeasuredModuleMemory::release_kept() {
  for (const auto& [bytes, block] : kept_) cudaFree(block);
  kept_.clear();
}

void* MeasuredModuleMemory::piece_of(std::int64_t bytes) {
  if (const auto kept = kept_.lower_bound(bytes);
      kept != kept_.end() && kept->first <= bytes + bytes / 4) {
    void* const block = kept->second;
    pieces_[block] = {bytes, kept->first};
    kept_.erase(kept);
    return block;
  }
  void* block = from_driver(bytes);
  if (!block) {
    release_kept();
    block = from_driver(bytes);
  }
  if (block) pieces_[block] = {bytes, bytes};
  return block;
}

void* MeasuredModuleMemory::take(std::int64_t bytes) {
  constexpr std::int64_t unit = gpu::FirstFit::alignment;
  const std::int64_t size = std::max<std::int64_t>(1, (bytes + unit - 1) / unit) * unit;
  if (reserve_) return reserve_->take(size);
  void* const block = piece_of(size);
  if (!block)
    throw gpu::GpuError(
        ExitCode::out_of_memory,
        "the GPU refuses " + std::to_string(size) + " bytes beside the " + std::to_string(used_) +
            " that a micro-batch of the model's modules holds; lower "
            "batch.micro_batch_size, or end what else runs on the GPU (nvidia-smi)");
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
  used_ -= found->second.asked;
  kept_.emplace(found->second.bytes, block);
  pieces_.erase(found);
}

void MeasuredModuleMemory::reserve(std::int64_t bytes) {
  release_kept();
  void* memory = nullptr;
  gpu::require(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "memory planned for modules");
  reserve_memory_ = gpu::DeviceMemory(memory);
  reserve_.emplace(memory, bytes);
}

void MeasuredModuleMemory::release_reserve() {
  reserve_.reset();
  reserve_memory_ = gpu::DeviceMemory();
}

}  // namespace trainx::operations::cuda
