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
/// 2^x for x <= 8, to 7.5e-5 of the result; exponents below -126 count as -126. Rounds x to a whole
/// number in the exponent bits and takes the rest, in [-1/2, 1/2], by a polynomial of least largest
/// relative error (Remez).
__device__ __forceinline__ float power_of_two_by_polynomial(float x) {
  x = fmaxf(x, -126.0f);
  constexpr float round_to_whole = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x + round_to_whole, rest = x - (shifted - round_to_whole);
  float power = fmaf(0.055171669f, rest, 0.242611122f);
  power = fmaf(power, rest, 0.693260985f);
  power = fmaf(power, rest, 0.999928074f);
  return __int_as_float(__float_as_int(power) + (__float_as_int(shifted) << 23));
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

/// *to += four, by the L2 cache; rounded to nearest as additions in registers are.
__device__ __forceinline__ void add_in_l2(float4* to, float4 four) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                   __cvta_generic_to_global(to)),
               "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w)
               : "memory");
}

/// blockIdx.x, read anew each time: what follows from it need not be kept in registers.
__device__ __forceinline__ unsigned block_index() {
  unsigned block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

}  // namespace trainx::kernels::hopper
