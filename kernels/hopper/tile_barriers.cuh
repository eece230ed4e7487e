// Barriers of a block that computes one tile after the other.
#pragma once
#include <cstdint>

namespace trainx::kernels::hopper {

/// Of C::stages stages of operands, `copied` and `free` again, and of C::places places where tiles
/// are passed on, `given` and `read`.
template <class C>
struct TileBarriers {
  std::uint32_t first;
  __device__ std::uint32_t copied(int stage) const { return first + 8 * stage; }
  __device__ std::uint32_t free(int stage) const { return copied(C::stages + stage); }
  __device__ std::uint32_t given(int place) const { return copied(2 * C::stages + place); }
  __device__ std::uint32_t read(int place) const { return given(C::places + place); }
};

}  // namespace trainx::kernels::hopper
