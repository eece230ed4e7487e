#pragma once
#include <cstdint>

namespace trainx::graph {

/// Scales of operands in fp8: of the tensor at hand, of the largest magnitudes of steps before, or
/// of 128 elements of inputs and output gradients and 128 x 128 of weights.
enum class Fp8Scaling : std::uint8_t { current, delayed, blocks };

}  // namespace trainx::graph
