#pragma once
#include "adapter/names.hpp"
#include "adapter/targets.hpp"
#include "architectures/own_head.hpp"
#include "graph/adapter_options.hpp"
#include "plan/adapter_modules.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::plan {

/// What model.adapter makes of a model.
struct AdapterPlan {
  graph::AdapterOptions options;
  adapter::Config config;             // as adapter_config.json has it
  std::vector<std::string> warnings;  // sentences
  /// A tensor of adapter_model.safetensors, and the parameter (program::ParameterSpec::name) that
  /// it is. Two tensors of tied modules are one parameter.
  struct Tensor {
    std::string name, parameter;
    bool operator==(const Tensor&) const = default;
  };
  std::vector<Tensor> tensors;
  /// The model's own weights that checkpoints have too: those that PEFT saves where embeddings or
  /// heads are targets, and those that the first adapter's file has.
  std::vector<Tensor> base_tensors = {};
  /// What a file may call the model's own weights. Those that it has take the folder's place, the
  /// last of several of one parameter. Where an adapter parts a tied head, a tensor of the head or
  /// the embedding is both parameters.
  std::vector<Tensor> readable_base = {};
  /// The head and the table of a tied model that the adapter parts: without a folder the head
  /// begins as the table. Empty: it parts none.
  architectures::HeadAndTable parted = {};
  /// What tensors of the file add to a weight: scale * B A.
  struct Added {
    WeightSlice to;
    std::string a, b;  // tensors of the file
    double scale = 1;
    std::int64_t experts = 1;   // that are stacked in them
    bool of_embedding = false;  // A is [rank, rows of the weight], B [columns, rank]
  };
  std::vector<Added> added;
  /// Rows of a weight in whose place trained ones stand.
  struct Replaced {
    std::string weight;  // the parameter
    std::string tensor;  // of the file: [ids, columns]
    std::string rows;    // the parameter that it is
    std::vector<std::int32_t> ids;
  };
  std::vector<Replaced> replaced = {};
  bool of_head = false;              // the head has an adapter
  std::vector<std::string> modules;  // that have an adapter, in the model's order
  std::int64_t trained = 0;          // numbers that are trained: of adapters, and of whole modules

  /// May layers have other adapters than their neighbours?
  bool tells_layers_apart() const;
};

}  // namespace trainx::plan
