#include "plan/adapter_modules.hpp"
#include "architectures/architecture.hpp"
#include "graph/model.hpp"
#include <algorithm>
#include <set>

namespace trainx::plan {

namespace {

class ModuleWalk {
 public:
  ModuleWalk(const graph::Model& model, const architectures::ModelDims& dims)
      : model_(model), dims_(dims) {}

  AdapterModules run() {
    for (const graph::Block& block : model_.blocks)
      for (const graph::Node& op : block.ops) add(op);
    for (const graph::ModelParameter& p : model_.parameters) {
      const std::string& name = p.spec.name;
      const std::string path = architectures::module_path(dims_, name);
      out_.parameters.push_back({path, name, p.spec.tensor_elements()});
      add_module(name.substr(0, name.rfind('.')), adapter::ModuleKind::other, "");
    }
    for (std::size_t m = 0; m < out_.all.size(); ++m)
      if (out_.all[m].tied_to_embedding)
        out_.parameters.push_back({out_.all[m].name + ".weight", out_.weights[m], 0});
    return std::move(out_);
  }

 private:
  const program::ParameterSpec& spec(int parameter) const {
    return model_.parameters[static_cast<std::size_t>(parameter)].spec;
  }

  adapter::Module* add_module(const std::string& module, adapter::ModuleKind kind,
                              const std::string& weight) {
    return add_module(module, architectures::module_path(dims_, module), kind, weight);
  }

  adapter::Module* add_module(const std::string& module, const std::string& path,
                              adapter::ModuleKind kind, const std::string& weight) {
    if (!seen_.insert(module).second) return nullptr;
    out_.weights.push_back(weight);
    out_.names.push_back(module);
    out_.slices.emplace_back();
    if (!weight.empty()) out_.slices.back().push_back({weight});
    return &out_.all.emplace_back(adapter::Module{.name = path, .kind = kind});
  }

  void add(const graph::Node& op) {
    if (const auto* linear = std::get_if<operations::Linear>(&op.operation))
      return add_linear(op, *linear);
    if (std::holds_alternative<operations::Embedding>(op.operation))
      for (std::size_t k = 0; k < op.parameters.size(); ++k)
        if (op.parameters[k].index != graph::none)
          add_embedding(op.parameters[k].index, k == operations::Embedding::token);
    if (std::holds_alternative<operations::Router>(op.operation))
      add_matrix(op.parameters[operations::Router::weight].index, adapter::ModuleKind::router);
    if (std::holds_alternative<operations::GroupedLinear>(op.operation)) add_experts(op);
  }

  void add_matrix(int parameter, adapter::ModuleKind kind) {
    const program::ParameterSpec& weight = spec(parameter);
    if (adapter::Module* m = add_module(graph::module_of(weight.name), kind, weight.name))
      m->in = weight.dims.back(), m->out = weight.dims.front();
  }

  void add_linear(const graph::Node& op, const operations::Linear& linear) {
    const graph::ParameterId id = op.parameters[operations::Linear::weight];
    for (int k = 0; k < id.count; ++k) {
      const program::ParameterSpec& weight = spec(id.index + k);
      const bool tied = linear.epilogue.makes_logits() && weight.embedding;
      const std::string module = tied ? tied_head(weight.name) : graph::module_of(weight.name);
      if (module.empty()) {
        out_.has_nameless_tied_head = true;
        continue;
      }
      adapter::Module* m = add_module(module, adapter::ModuleKind::linear, weight.name);
      if (!m) continue;
      m->in = weight.dims.back();
      m->out = weight.saved_dims.empty() ? weight.dims.front()
                                         : weight.saved_dims[weight.saved_transposed ? 1 : 0];
      m->output_head = linear.epilogue.makes_logits();
      m->conv1d = weight.saved_transposed;
      m->tied_to_embedding = tied;
    }
  }

  /// What the folder calls a head whose weight is the embedding's; "": it has no name.
  std::string tied_head(const std::string& table) const {
    for (const char* head : {"lm_head", "embed_out"})
      if (architectures::parameter_name(dims_, std::string(head) + ".weight") == table) return head;
    return "";
  }

  void add_embedding(int parameter, bool of_tokens) {
    const program::ParameterSpec& table = spec(parameter);
    adapter::Module* m =
        add_module(graph::module_of(table.name), adapter::ModuleKind::embedding, table.name);
    if (!m) return;
    m->in = table.saved_dims.empty() ? table.dims.front() : table.saved_dims.front();
    m->out = table.dims.back();
    m->input_embedding = of_tokens;
  }

  /// PEFT knows stacked experts alone: transformers' gate_up_proj and down_proj of a layer.
  void add_experts(const graph::Node& op) {
    const auto& grouped = std::get<operations::GroupedLinear>(op.operation);
    const program::ParameterSpec& first = spec(op.parameters.front().index);
    const auto describe = [&](adapter::Module* m) {
      m->experts = grouped.of_experts;
      m->in = first.dims.back();
      m->out = grouped.features(model_.types_of(op));
    };
    if (op.parameters.front().count == 1) {
      if (adapter::Module* m = add_module(graph::module_of(first.name),
                                          architectures::module_path(dims_, first.name),
                                          adapter::ModuleKind::expert_tensor, first.name))
        describe(m);
      return;
    }
    const std::size_t at = first.name.find("experts.");
    if (at == std::string::npos) return;
    const std::string stack = first.name.substr(0, at) + "experts";
    const bool down = std::ranges::count(experts_, stack) > 0;
    experts_.push_back(stack);
    const graph::ParameterId id = op.parameters.front();
    for (int k = 0; k < id.count; ++k) seen_.insert(graph::module_of(spec(id.index + k).name));
    const std::string module = stack + (down ? ".down_proj" : ".gate_up_proj");
    if (adapter::Module* m = add_module(module, adapter::ModuleKind::expert_tensor, first.name)) {
      const auto parts = static_cast<int>(id.count / grouped.of_experts);
      out_.slices.back().clear();
      for (int k = 0; k < id.count; ++k)
        out_.slices.back().push_back(
            {spec(id.index + k).name, k / parts, k % parts * spec(id.index + k).dims.front()});
      describe(m);
    }
  }

  const graph::Model& model_;
  const architectures::ModelDims& dims_;
  AdapterModules out_;
  std::set<std::string> seen_;
  std::vector<std::string> experts_;
};

}  // namespace

AdapterModules adapter_modules(const architectures::ModelDims& dims) {
  AdapterModules modules;
  architectures::observe_graph_passes(dims, 1, 1, DType::f32,
                                      architectures::GraphOptions::on_cpu(1),
                                      [&](std::string_view after, const graph::Model& model) {
                                        if (after.empty()) modules = ModuleWalk(model, dims).run();
                                      });
  return modules;
}

}  // namespace trainx::plan
