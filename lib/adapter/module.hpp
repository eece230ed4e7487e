#pragma once
#include <cstdint>
#include <string>

namespace trainx::adapter {

/// expert_tensor: a stacked three-dimensional parameter of fused experts, which PEFT reaches by
/// target_parameters alone. router: a module that holds its matrix itself, as transformers' routers
/// do, reached likewise (`NAME.weight`). other: what cannot have an adapter (norms, activations).
enum class ModuleKind { linear, embedding, expert_tensor, router, other };

/// A module of the base model, as an adapter's settings and files name it.
struct Module {
  /// As PEFT's named_modules: "model.layers.0.self_attn.q_proj". Of an expert tensor the
  /// parameter's: "model.layers.0.mlp.experts.gate_up_proj".
  std::string name;
  ModuleKind kind = ModuleKind::linear;
  /// y[out] = W x[in], however the weight is stored. Of an embedding: in is the vocabulary, out the
  /// width. Of an expert tensor: those of one expert.
  std::int64_t in = 0, out = 0;
  /// get_output_embeddings(), or the head of a task: all-linear leaves it out.
  bool output_head = false;
  /// The matrices that are stacked in an expert tensor; else 1.
  std::int64_t experts = 1;
  /// transformers' Conv1D, which stores [in, out] (GPT-2): PEFT's fan_in_fan_out.
  bool conv1d = false;
  /// get_input_embeddings().
  bool input_embedding = false;
  /// Its weight is the input embedding's (tie_word_embeddings).
  bool tied_to_embedding = false;
};

}  // namespace trainx::adapter
