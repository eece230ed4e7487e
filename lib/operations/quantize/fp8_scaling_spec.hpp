#pragma once
#include <cstdint>

namespace trainx::operations {

/// Where scales come from when tensors are cast to fp8. current: a tensor's own largest value, for
/// which it is read twice; delayed: the largest values of the steps before (arXiv:2209.05433);
/// blocks: each 128 elements, or 128 x 128 of a weight, have their own (arXiv:2412.19437, 3.3.2).
enum class Fp8Scaling : std::uint8_t { current, delayed, blocks };

/// Times that a cast reads its tensor: for the largest value, for the cast.
constexpr int reads_of_cast(Fp8Scaling scaling) { return scaling == Fp8Scaling::current ? 2 : 1; }

}  // namespace trainx::operations
