#include "execute/cuda/pinned_arena.hpp"
#include "comm/sealed_pages.hpp"
#include "core/units.hpp"
#include "gpu/gpu_error.hpp"
#include <cuda_runtime_api.h>
#include <string>
#include <utility>

namespace trainx::execute {

PinnedArena::PinnedArena(std::int64_t bytes, std::vector<program::Range> shared)
    : arena_(bytes), shared_(std::move(shared)) {
  const auto pin_private = [&](std::int64_t begin, std::int64_t end) {
    if (end <= begin) return;
    pin({begin, end}, cudaHostRegisterDefault);
    private_pinned_.push_back({begin, end});
  };
  std::int64_t at = 0;
  for (const program::Range& range : shared_) {
    pin_private(at, range.begin);
    at = range.end;
  }
  pin_private(at, bytes);
}

PinnedArena::~PinnedArena() {
  unpin_shared();
  unpin(private_pinned_);
}

void PinnedArena::pin_shared(bool for_reading_alone) {
  for (const program::Range& range : shared_) {
    pin(range, for_reading_alone ? cudaHostRegisterReadOnly : cudaHostRegisterDefault);
    shared_pinned_.push_back(range);
  }
}

void PinnedArena::unpin_shared() { unpin(shared_pinned_); }

void PinnedArena::pin(const program::Range& range, unsigned flags) {
  const std::int64_t bytes = range.end - range.begin;
  const cudaError_t error =
      cudaHostRegister(arena_.data() + range.begin, static_cast<std::size_t>(bytes), flags);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw gpu::GpuError(ExitCode::out_of_memory,
                        "the machine refuses " + human_bytes(bytes) + " of pinned host memory");
  }
  gpu::require(error, "pinned host memory");
}

// Of a GPU that is lost nothing is pinned any more: errors do not matter.
void PinnedArena::unpin(std::vector<program::Range>& pinned) {
  for (const program::Range& range : pinned) cudaHostUnregister(arena_.data() + range.begin);
  cudaGetLastError();
  pinned.clear();
}

bool PinnedArena::can_share_pages() {
  int gpu = 0, takes_addresses = 0;
  gpu::require(cudaGetDevice(&gpu), "this rank's GPU");
  if (cudaDeviceGetAttribute(&takes_addresses, cudaDevAttrCanUseHostPointerForRegisteredMem, gpu) !=
          cudaSuccess ||
      takes_addresses == 0) {
    cudaGetLastError();
    return false;
  }
  Arena page(program::page_bytes);
  comm::SealedPages sealed(page.data(), {{0, static_cast<std::size_t>(program::page_bytes)}});
  std::string why;
  if (!sealed.begin(why) || !sealed.seal(why)) return false;
  const cudaError_t error = cudaHostRegister(
      page.data(), static_cast<std::size_t>(program::page_bytes), cudaHostRegisterReadOnly);
  if (error == cudaSuccess) cudaHostUnregister(page.data());
  cudaGetLastError();
  return error == cudaSuccess;
}

}  // namespace trainx::execute
