// Copies into shared memory that go on while the thread computes (cp.async).
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

__device__ __forceinline__ void copy16_async(void* to_shared, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared))),
               "l"(from)
               : "memory");
}
/// Zeros where there is nothing to be copied; `from` is an address that could be read all the same.
__device__ __forceinline__ void copy16_or_zeros_async(void* to_shared, const void* from,
                                                      bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared))),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
/// Ends a batch of this thread's copies.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's batches are under way.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace trainx::kernels
