#pragma once
#include <cstdint>

namespace trainx::architectures {

/// Deeper models are refused: lists of layers and of their tensors are made to plan one.
constexpr std::int64_t most_layers = 1024;

/// Of any other number that says how large a model is: products of two are whole numbers of 64
/// bits.
constexpr std::int64_t most_of_a_size = std::int64_t{1} << 31;

}  // namespace trainx::architectures
