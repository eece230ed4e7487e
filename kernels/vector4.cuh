// Four neighbouring elements in one access where their address allows it.
#pragma once
#include "kernels/bits.hpp"
#include <cstdint>

namespace trainx::kernels {

template <class T>
struct alignas(4 * sizeof(T)) Four {
  T at[4];
};

template <class T>
__device__ __forceinline__ bool aligned4(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % sizeof(Four<T>) == 0;
}
/// p must be aligned4.
template <class T>
__device__ __forceinline__ Four<T> load4(const T* p) {
  return *reinterpret_cast<const Four<T>*>(p);
}
template <class T>
__device__ __forceinline__ void store4(T* p, const Four<T>& x) {
  *reinterpret_cast<Four<T>*>(p) = x;
}

}  // namespace trainx::kernels
