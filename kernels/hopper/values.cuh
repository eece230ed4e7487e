// Single values: exponentials, pairs of bf16, loads and stores that C++ has no words for.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::hopper {

__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// Rounds to bf16, to nearest; `first` in the lower half.
__device__ __forceinline__ std::uint32_t bf16_pair(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ __forceinline__ float lower_half(std::uint32_t pair) {
  return __int_as_float(static_cast<int>(pair << 16));
}
__device__ __forceinline__ float upper_half(std::uint32_t pair) {
  return __int_as_float(static_cast<int>(pair & 0xffff0000u));
}

__device__ __forceinline__ float2 load_pair(std::uint32_t shared) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(shared));
  return pair;
}
__device__ __forceinline__ void store_pair(std::uint32_t shared, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(shared), "f"(first), "f"(second)
               : "memory");
}

__device__ __forceinline__ int load_int(std::uint32_t shared) {
  int x;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(shared) : "memory");
  return x;
}
__device__ __forceinline__ void store_int(std::uint32_t shared, int x) {
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(shared), "r"(x) : "memory");
}
__device__ __forceinline__ float4 load_four(std::uint32_t shared) {
  float4 four;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(shared)
               : "memory");
  return four;
}
__device__ __forceinline__ void store_four(std::uint32_t shared, const float* four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "f"(four[0]), "f"(four[1]),
               "f"(four[2]), "f"(four[3])
               : "memory");
}

/// The same number, of which the compiler does not know what was computed from it before: what
/// follows from it need not be kept in registers.
__device__ __forceinline__ int anew(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// blockIdx.x, read anew each time: what follows from it need not be kept in registers.
__device__ __forceinline__ unsigned block_index() {
  unsigned block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

}  // namespace trainx::kernels::hopper
