// A model as a graph of modules: named values, each made once and read by any number of modules.
#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainx {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// A link of a chain. The first gets tokens, i64 [B, T]; each other one what the one before
/// returns; the last returns logits: [B, T, vocab_size] for the next token or tokens in their own
/// place, [B, num_labels] for classification.
struct Module {
  using NamedTensor = trainx::NamedTensor;
  // of letters, digits, '_' and '-'; its parameters are saved as "<name>.<parameter>"
  std::string name;
  std::vector<NamedTensor> parameters, buffers;
  std::function<at::Tensor(const at::Tensor&)> forward;
  std::function<void(bool training)> set_training;
  std::shared_ptr<void> owner;  // of what `forward` computes with
};

enum class FieldType : std::uint8_t { f32, i64 };

/// A field of a sample of the user's own, read from a jsonl line by its name: a number, or a list
/// of numbers that fills `dims`.
struct Field {
  std::string name;
  std::vector<std::int64_t> dims;  // of one sample; modules get [B, dims...]. Empty: a number, [B]
  FieldType type = FieldType::f32;
};

/// A number beside the loss, reported as sum / count.
struct Metric {
  std::string name;       // of letters, digits and '_'
  at::Tensor sum;         // one element
  at::Tensor count = {};  // one element; undefined: the loss's
};

/// What a loss module returns of the samples that it is given.
struct Loss {
  at::Tensor sum;    // one element, differentiable: over targets
  at::Tensor count;  // one element: how many targets, such as the number of samples
  std::vector<Metric> metrics = {};
};

/// A module of a graph.
struct GraphModule {
  std::string name;  // as Module::name
  std::vector<NamedTensor> parameters, buffers;
  // values that it reads, and those that it makes, in the order of its arguments and results
  std::vector<std::string> inputs, outputs;
  // Values are floating and begin with the batch: [B, ...].
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)> forward;
  // of the last module alone, instead of `forward`
  std::function<Loss(const std::vector<at::Tensor>&)> loss;
  std::function<void(bool training)> set_training;
  std::shared_ptr<void> owner;
  bool cheap = false;  // Graph::cheap
  // Called before the first forward with the device and the type that the module computes on and
  // in, where it keeps tensors that are neither parameters nor buffers; empty: it keeps none.
  std::function<void(at::Device device, at::ScalarType type)> prepare = {};
};

/// Modules in the order in which they are computed. The last one has the loss: it returns a Loss,
/// or logits as the last module of a chain does.
///
/// Values that the batch brings: own fields by their names; "tokens" and "targets", i64 [B, T],
/// targets -100 where nothing is to be predicted; for classification "labels", i64 [B], instead of
/// targets.
///
/// Two modules that hold one tensor as a parameter are tied: it has one gradient, the sum of both,
/// and is saved once, under the name of the first.
struct Graph {
  Graph() = default;
  /// Each module reads what the one before makes.
  Graph(std::vector<Module> chain);

  std::vector<Field> fields;
  std::vector<GraphModule> modules;

  void field(std::string name, std::vector<std::int64_t> dims, FieldType type = FieldType::f32) {
    fields.push_back({std::move(name), std::move(dims), type});
  }
  /// M is a torch::nn module, by its holder or as a shared pointer, whose forward takes a tensor
  /// for each input, and returns a tensor, or a tuple or std::vector of tensors for several
  /// outputs, or a Loss. <trainx/worker.hpp> has it.
  template <class M>
  void add(std::string name, M module, std::vector<std::string> inputs,
           std::vector<std::string> outputs = {});
  /// The outputs of that module are cheap to compute again, such as an activation's, a norm's or a
  /// dropout's: under memory.activation_checkpoint: selective what it keeps for backward is dropped
  /// after forward. Throws std::invalid_argument where there is no such module.
  void cheap(const std::string& name) {
    for (GraphModule& m : modules)
      if (m.name == name) {
        m.cheap = true;
        return;
      }
    throw std::invalid_argument("cheap: the graph has no module '" + name + "'");
  }
};

}  // namespace trainx
