#pragma once
#include "core/dtype.hpp"
#include "trainx/model_definition.hpp"
#include <cstdint>

namespace trainx::operations {

/// The user's module behind an operation Module, and what LibTorch holds for it from forward to
/// backward. A block owns one; OpContext hands it to the operation.
struct ModuleState {
  /// The weights that construction gave are dropped, because the arena holds them. Buffers become
  /// `compute`.
  ModuleState(trainx::Module module, DType compute);

  trainx::Module module;
  at::Tensor input, output;  // leaf and root of the graph, while there is one
};

/// Seeds the generator that dropout and constructors of torch::nn draw from.
void seed_generator(std::uint64_t seed);

}  // namespace trainx::operations
