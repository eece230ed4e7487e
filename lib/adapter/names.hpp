// Tensors of adapter_model.safetensors.
#pragma once
#include "adapter/targets.hpp"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::adapter {

/// a: [rank, in], of experts [experts * rank, in], row e * rank + j.
/// b: [out, rank], of experts [out, rank * experts], column j * experts + e.
/// whole: a module of modules_to_save, its weight or bias.
/// base: the base's own parameter, which PEFT writes too where an embedding or the head is a target
/// by name, or its vocabulary grew. Where a file has one, it takes the place of the folder's.
/// rows: [tokens, width], rows of an embedding or a head that are trained.
enum class TensorRole { a, b, whole, base, rows };

struct AdapterTensor {
  std::string name;  // in the file
  std::size_t module = 0;
  TensorRole role = TensorRole::a;
  /// Empty for whole and base: the model's own parameter has it.
  std::vector<std::int64_t> dims;
  /// For whole and base: the parameter's name in the model ("lm_head.weight").
  std::string parameter;
};

/// The tensors of PEFT's file for these targets, by name. `parameters` are the names of all
/// parameters of the model, of which modules_to_save takes those inside its modules.
std::vector<AdapterTensor> adapter_tensors(std::span<const Module> modules, const Chosen& chosen,
                                           std::span<const std::string> parameters);

/// What a file may call the base's own parameters, in the order of `parameters`: all but those of
/// modules that are trained whole, and of stacked experts.
std::vector<AdapterTensor> base_tensors(std::span<const Module> modules, const Chosen& chosen,
                                        std::span<const std::string> parameters);

/// A tensor that a file has.
struct FoundTensor {
  std::string name;
  std::vector<std::int64_t> dims;
};

/// Throws UserError 65, naming `path` and the tensor, unless `found` are `expected`: one missing,
/// one that belongs to no target, another shape. Tensors of role base may be missing.
void check_tensors(std::span<const AdapterTensor> expected, std::span<const FoundTensor> found,
                   const std::string& path);

}  // namespace trainx::adapter
