// Models of a user's own worker: known when the program runs, from what the worker says of them
// (`--describe`, `--describe-graph`) or, in the worker itself, from what was added to it.
#pragma once
#include "program/model_graph.hpp"
#include "architectures/graph_options.hpp"
#include "core/field_spec.hpp"
#include "options/model/custom.hpp"
#include <cstdint>

namespace trainx::graph {
struct Model;
}

namespace trainx::architectures {

using namespace options;
using options::task;

// in the order of the module
struct CustomParameter {
  std::string name;  // as it is saved: "<module>.<parameter>", of the first module that holds it
  std::vector<std::int64_t> dims;
};
/// A value between modules, for one micro-batch: its first dimension is micro_batch_size.
struct CustomValue {
  std::string name;
  std::vector<std::int64_t> dims;
};

/// A module of the graph for one micro-batch.
struct CustomModule {
  std::string name;
  std::vector<CustomParameter> parameters;
  // values of modules before it, batch tensors, own fields, by name
  std::vector<std::string> inputs;
  std::vector<CustomValue> outputs;  // none: it has the loss
  // that autograd keeps between its forward and backward, beside operands
  program::Bytes graph_bytes = 0;
  std::vector<std::string> changing = {};  // buffers that its forward changes in training
  // in training from LibTorch's generator, so that its numbers are seeded before each call
  bool draws = true;
  bool cheap = false;  // named so by the user: selective recomputation computes it again
  // measured on a GPU, of the last one both together; 0: not measured
  double forward_s = 0, backward_s = 0;
};

/// What a worker measured of a model.
struct CustomShape {
  std::int64_t micro_batch_size = 0, length = 0;
  DType compute = DType::f32;
  std::vector<FieldSpec> fields;
  std::vector<CustomModule> modules;
  bool own_loss = false;             // else cross-entropy of the last module's logits
  std::vector<std::string> metrics;  // of an own loss
  // most that one instruction allocates beside operands and graph; on a GPU with what stays
  program::Bytes library_bytes = 0;
  // measured on a GPU, whose memory `graph_bytes` and `library_bytes` are then
  bool on_gpu = false;
  // why a step cannot be replayed as a CUDA graph: "module 'x' ...". Empty: it can
  std::string not_captured = {};

  /// Any of tokens, targets, labels.
  bool reads_tokens() const;
};

/// Decided; the graphs of the sizes that the worker was asked about.
struct CustomDims {
  CustomOptions options;
  Task task = Task::causal_lm;
  std::int64_t vocab_size = 0, max_positions = 0, num_labels = 0;
  std::vector<CustomShape> shapes;

  // the same in all shapes; as of a chain where the worker was not asked
  std::vector<FieldSpec> fields() const;
  bool reads_tokens() const { return shapes.empty() || shapes.front().reads_tokens(); }
  bool on_gpu() const { return !shapes.empty() && shapes.front().on_gpu; }
  /// Why steps cannot be replayed as CUDA graphs; empty: they can.
  std::string not_captured() const;
  bool own_loss() const { return !shapes.empty() && shapes.front().own_loss; }
  std::vector<std::string> metrics() const;
  /// Was it measured how long modules take?
  bool has_times() const;
};

/// Memory on a GPU, beside that of modules, that trainx's own kernels of the run use: sums of
/// gradients, updates.
constexpr program::Bytes module_workspace_bytes = program::Bytes{64} << 20;

/// A block for each module, each a layer of its own: full activation recomputation keeps what is
/// between modules. The last one has the loss. A micro-batch between two described ones has bytes
/// between theirs. InternalError if no description covers it.
program::ModelGraph custom_graph(const CustomDims& dims, std::int64_t micro_batch_size,
                                 std::int64_t length, DType compute,
                                 const GraphOptions& graph_options = {});
/// The modules before graph passes.
graph::Model model_of(const CustomDims& dims, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options);

/// config.json: model_type, the options, the shape.
std::string custom_config_text(const CustomDims& dims, DType saved);
/// Of a described model; nothing where model_type is another. UserError 65 for options that the
/// model does not have or that have another type.
std::optional<CustomDims> custom_dims_from_config(const std::string& text, const std::string& path);

// What every architecture answers (architectures/architecture.hpp).
inline Task task(const CustomDims& d) { return d.task; }
inline std::int64_t num_labels(const CustomDims& d) { return d.num_labels; }
inline ProblemType problem_type(const CustomDims&) {
  return ProblemType::single_label_classification;
}
inline std::optional<Masking> masking(const CustomDims&) { return std::nullopt; }

}  // namespace trainx::architectures
