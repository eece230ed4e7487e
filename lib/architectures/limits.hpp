#pragma once
#include <cstdint>

namespace trainx::architectures {

/// Deeper models are refused: lists of layers and of their tensors are made to plan one.
constexpr std::int64_t most_layers = 1024;

}  // namespace trainx::architectures
