#pragma once
#include "core/dtype.hpp"
#include "trainx/model_definition.hpp"
#include <cstdint>
#include <string>

namespace trainx::operations {

/// The user's module behind an operation Module, and what LibTorch holds for it from forward to
/// backward. A block owns one; OpContext hands it to the operation.
struct ModuleState {
  /// The weights that construction gave are dropped, because the arena holds them. Buffers become
  /// `compute`, and move to module_device(). `draws`: its forward draws from LibTorch's generator
  /// in training.
  ModuleState(trainx::GraphModule module, DType compute, bool draws = true);

  trainx::GraphModule module;
  bool draws;
  at::ScalarType compute;         // of values and parameters
  std::vector<bool> are_numbers;  // of each parameter: it has no dims, and its operand has one
  // leaves and roots of the graph, while there is one; of a loss its sum alone
  std::vector<at::Tensor> inputs, outputs;
  at::Tensor gradient;  // of trainx's loss by logits, its output
};

/// "module 'x'".
std::string words_for(const trainx::GraphModule& module);

/// Seeds the generator that dropout and constructors of torch::nn draw from.
void seed_generator(std::uint64_t seed);

}  // namespace trainx::operations
