#include "core/error.hpp"
#include "architectures/compose.hpp"
#include "architectures/custom.hpp"
#include "architectures/exported.hpp"
#include "graph/builder.hpp"
#include "graph/passes/graph_pass.hpp"
#include "graph/to_blocks.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace trainx::architectures {

using program::Bytes;

namespace {

Bytes between(Bytes low, Bytes high, double share) {
  return low + static_cast<Bytes>(std::ceil(share * static_cast<double>(high - low)));
}

/// The described shape, or one between two described ones: bytes grow with the micro-batch in a
/// straight line. Smaller ones than were described take as much as the smallest.
CustomShape shape_for(const CustomDims& dims, std::int64_t B, std::int64_t T, DType compute) {
  const CustomShape *below = nullptr, *above = nullptr;
  for (const CustomShape& s : dims.shapes) {
    if (s.length != T || s.compute != compute) continue;
    if (s.micro_batch_size <= B && (!below || s.micro_batch_size > below->micro_batch_size))
      below = &s;
    if (s.micro_batch_size >= B && (!above || s.micro_batch_size < above->micro_batch_size))
      above = &s;
  }
  if (above && !below) below = above;
  if (!above)
    throw InternalError("model " + dims.options.name + " is not described for micro-batches of " +
                        std::to_string(B) + " times " + std::to_string(T) + " tokens");
  CustomShape made = *above;
  if (above->micro_batch_size == B) return made;
  const double share =
      below == above ? 1
                     : static_cast<double>(B - below->micro_batch_size) /
                           static_cast<double>(above->micro_batch_size - below->micro_batch_size);
  made.micro_batch_size = B;
  made.library_bytes = between(below->library_bytes, above->library_bytes, share);
  for (std::size_t k = 0; k < made.modules.size(); ++k) {
    for (CustomValue& value : made.modules[k].outputs) value.dims.front() = B;
    CustomModule& m = made.modules[k];
    const CustomModule &low = below->modules.at(k), &high = above->modules[k];
    m.graph_bytes = between(low.graph_bytes, high.graph_bytes, share);
    m.forward_s = low.forward_s + share * (high.forward_s - low.forward_s);
    m.backward_s = low.backward_s + share * (high.backward_s - low.backward_s);
  }
  return made;
}

/// A tensor without dims is one element here.
std::vector<std::int64_t> with_dims(const std::vector<std::int64_t>& dims) {
  return dims.empty() ? std::vector<std::int64_t>{1} : dims;
}

/// Matrices and embeddings decay; biases and norm parameters do not.
std::vector<program::ParameterSpec> parameters_of(const CustomModule& m) {
  std::vector<program::ParameterSpec> all;
  for (const CustomParameter& p : m.parameters)
    all.push_back({.name = p.name,
                   .dims = with_dims(p.dims),
                   .decay = p.dims.size() >= 2,
                   .initializer = program::Initializer::constructed});
  return all;
}

/// Those of several modules, each a group of its own: a backward writes groups as a whole.
std::set<std::string> tied_parameters(const CustomShape& shape) {
  std::set<std::string> seen, tied;
  for (const CustomModule& m : shape.modules)
    for (const CustomParameter& p : m.parameters)
      if (!seen.insert(p.name).second) tied.insert(p.name);
  return tied;
}

/// Buffers of an export, and what its model's own code does not train, are constants.
void freeze_fixed(const CustomDims& dims, graph::Model& model) {
  const std::string config = export_config(dims.options);
  if (config.empty()) return;
  const std::set<std::string> fixed = fixed_tensors(config);
  for (graph::ModelParameter& p : model.parameters)
    if (fixed.contains(p.spec.name)) p.training = {.trained = false};
}

/// In the folder parameters have the dims that their modules gave them, of numbers none.
void keep_saved_dims(const CustomShape& shape, program::ModelGraph& graph) {
  std::set<std::string> numbers;
  for (const CustomModule& m : shape.modules)
    for (const CustomParameter& p : m.parameters)
      if (p.dims.empty()) numbers.insert(p.name);
  if (numbers.empty()) return;
  for (program::GroupSpec& group : graph.groups)
    for (program::ParameterSpec& p : group.parameters)
      if (numbers.contains(p.name)) p.saved_dims.clear();
}

bool reads(const CustomShape& shape, const std::string& value) {
  return std::ranges::any_of(shape.modules, [&](const CustomModule& m) {
    return std::ranges::find(m.inputs, value) != m.inputs.end();
  });
}

/// What the batch brings: what a text has, if any module reads it, and own fields.
std::vector<program::TensorSpec> fields_of(const CustomShape& shape, std::int64_t B) {
  std::vector<program::TensorSpec> out;
  for (const FieldSpec& f : shape.fields) {
    program::TensorSpec& tensor = out.emplace_back(program::TensorSpec{f.name, f.dtype, {B}});
    tensor.dims.insert(tensor.dims.end(), f.dims.begin(), f.dims.end());
  }
  return out;
}

graph::Model model_of(const CustomDims& dims, const CustomShape& shape, std::int64_t B,
                      std::int64_t T, DType compute, const GraphOptions& graph_options) {
  const bool classification = dims.task == Task::classification;
  const std::string targets = classification ? "labels" : "targets";
  std::vector<std::string> of_text = shape.reads_tokens()
                                         ? std::vector<std::string>{"tokens", "positions", targets}
                                         : std::vector<std::string>{"positions"};
  if (reads(shape, "lengths")) of_text.emplace_back("lengths");
  const bool two_texts = dims.task == Task::seq2seq;
  if (two_texts) of_text.emplace_back("target_tokens");
  if (shape.on_gpu != graph_options.device.gpu)
    throw InternalError("model " + dims.options.name + " was measured on another device");
  graph::BuilderOptions builder = builder_options(B, T, compute, graph_options);
  builder.fields = fields_of(shape, B);
  if (two_texts) builder.target_length = target_length(dims, T);
  graph::ModelBuilder m(builder, of_text);
  std::map<std::string, graph::Value> values;
  for (const std::string& name : of_text) values[name] = m.batch(name);
  for (const FieldSpec& f : shape.fields) values[f.name] = m.batch(f.name);
  for (const CustomModule& module : shape.modules) {
    graph::ModuleOptions options{.name = module.name, .parameters = parameters_of(module)};
    options.module.graph_bytes = module.graph_bytes;
    options.module.forward_s = module.forward_s;
    options.module.backward_s = module.backward_s;
    options.module.cheap = module.cheap;
    for (const std::string& input : module.inputs) options.inputs.push_back(values.at(input));
    for (const CustomValue& value : module.outputs) {
      options.outputs.push_back(value.name);
      options.module.dims.push_back(value.dims);
    }
    if (!module.outputs.empty()) {
      const std::vector<graph::Value> made = m.module(options);
      for (std::size_t k = 0; k < made.size(); ++k) values[module.outputs[k].name] = made[k];
    } else if (shape.own_loss) {
      m.module_loss(options, static_cast<std::int64_t>(shape.metrics.size()));
    } else {
      m.module_head(options, m.batch(targets), classification ? dims.num_labels : 0);
    }
  }
  graph::Model model = m.finish();
  const std::set<std::string> tied = tied_parameters(shape);
  for (graph::ModelParameter& p : model.parameters)
    if (tied.contains(p.spec.name)) p.group = p.spec.name;
  return model;
}

}  // namespace

graph::Model model_of(const CustomDims& dims, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options) {
  return model_of(dims, shape_for(dims, micro_batch_size, length, compute), micro_batch_size,
                  length, compute, graph_options);
}

program::ModelGraph custom_graph(const CustomDims& dims, std::int64_t B, std::int64_t T,
                                 DType compute, const GraphOptions& graph_options) {
  const CustomShape shape = shape_for(dims, B, T, compute);
  graph::Model model = model_of(dims, shape, B, T, compute, graph_options);
  graph::apply_graph_passes(model, {.rules = graph_options.passes.rules});
  freeze_fixed(dims, model);
  program::ModelGraph graph = graph::to_blocks(model);
  keep_saved_dims(shape, graph);
  graph.library_bytes = shape.library_bytes +
                        (graph_options.device.gpu ? module_workspace_bytes : 0);
  return graph;
}

}  // namespace trainx::architectures
