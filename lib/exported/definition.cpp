#include "exported/definition.hpp"
#include "architectures/exported.hpp"
#include "core/error.hpp"
#include "exported/folder.hpp"
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

namespace trainx::exported {
namespace {

/// All zero, of any shape, in the memory of one element: real weights are the arena's.
at::Tensor placeholder(const std::vector<std::int64_t>& dims) {
  static float zero = 0;
  const std::vector<std::int64_t> strides(dims.size(), 0);
  return at::from_blob(&zero, dims, strides, at::TensorOptions().dtype(at::kFloat))
      .requires_grad_(true);
}

struct Instance {
  std::shared_ptr<const ExportedModel> model;
  const ExportedModule* module = nullptr;
  std::vector<at::Tensor> parameters;  // that the graph reads
  bool training = true;
  at::ScalarType computes_in = at::kFloat;
  std::shared_ptr<const PlacedGraph> graph;  // null: of that type the export has none

  void prepare(const at::Device& device, at::ScalarType type) {
    graph.reset();
    computes_in = type;
    for (const auto& [word, interpreter] : module->by_type)
      if (type_named(word) == type) graph = interpreter->on(device);
  }

  void require_length(const std::string& input, const at::Tensor& x) const {
    const auto limits = model->lengths.find(input);
    if (limits == model->lengths.end()) return;
    const std::int64_t length = x.size(1);
    const auto [least, most] = limits->second;
    const bool of_target = input == "target_tokens";
    TORCH_CHECK(length >= least && length <= most, of_target ? "targets" : "rows", " have ", length,
                " tokens, and the model was exported for ", least, " to ", most, "; set data.",
                of_target ? "target_length" : "sequence_length",
                ", or export it again with another --",
                of_target ? "target-length" : "sequence-length");
  }

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) const {
    const std::vector<Operand>& named = module->graph->inputs;
    for (std::size_t k = 0; k < named.size(); ++k) require_length(named[k].name, inputs[k]);
    TORCH_CHECK(graph, "the model was exported without a graph for ", computes_in,
                "; compute in fp32, or export it again",
                computes_in == at::kHalf ? " with --fp16" : "");
    std::vector<at::Tensor> operands = inputs;
    operands.insert(operands.end(), parameters.begin(), parameters.end());
    return graph->run(operands, training);
  }
};

Graph build(const std::vector<OptionField>& fields) {
  const architectures::CustomOptions options{std::string(architectures::exported_name), "", fields};
  const auto model =
      read_export(architectures::export_folder(options), architectures::export_config(options));
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, dims] : model->graph.parameters) parameters[name] = placeholder(dims);
  Graph graph;
  for (const ExportedModule& module : model->modules) {
    const auto instance = std::make_shared<Instance>(Instance{model, &module, {}});
    GraphModule& made = graph.modules.emplace_back();
    made.name = module.graph->name, made.outputs = module.graph->outputs;
    for (const Operand& input : module.graph->inputs) made.inputs.push_back(input.name);
    for (const Operand& p : module.graph->parameters) {
      instance->parameters.push_back(parameters.at(p.name));
      made.parameters.push_back({p.name, parameters.at(p.name)});
    }
    made.forward = [instance](const std::vector<at::Tensor>& inputs) {
      return instance->forward(inputs);
    };
    made.prepare = [instance](at::Device device, at::ScalarType type) {
      instance->prepare(device, type);
    };
    made.set_training = [instance](bool training) { instance->training = training; };
    made.owner = instance;
  }
  // saved with the others, so that transformers finds all that it looks for
  for (const std::string& name : model->graph.unused)
    graph.modules.back().parameters.push_back({name, parameters.at(name)});
  return graph;
}

}  // namespace

ModelDefinition definition() {
  const architectures::CustomOptions options = architectures::exported_options();
  return {options.name, options.summary, options.fields,
          [](const std::vector<OptionField>& fields, const ModelShape&) { return build(fields); }};
}

}  // namespace trainx::exported
