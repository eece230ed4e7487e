// Functions that kernels and their CPU references share, and the arithmetic in which both give the
// same bits.
#pragma once
#include <cmath>
#ifdef __CUDACC__
#define TRAINX_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TRAINX_HOST_DEVICE \
  inline __attribute__((   \
      always_inline))  // so that it is compiled for the instruction set of the loop it stands in
#endif

namespace trainx::kernels {

/// Rounded one by one: a compiler that joined product and sum into one instruction would give other
/// bits on the device than on the host.
TRAINX_HOST_DEVICE float product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
TRAINX_HOST_DEVICE float sum(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
TRAINX_HOST_DEVICE double product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
TRAINX_HOST_DEVICE double sum(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
TRAINX_HOST_DEVICE float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
TRAINX_HOST_DEVICE double quotient(double a, double b) {
#ifdef __CUDA_ARCH__
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}
TRAINX_HOST_DEVICE float square_root(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return std::sqrt(x);
#endif
}
TRAINX_HOST_DEVICE double square_root(double x) {
#ifdef __CUDA_ARCH__
  return __dsqrt_rn(x);
#else
  return std::sqrt(x);
#endif
}

}  // namespace trainx::kernels
