#include "adapter/names.hpp"
#include "adapter/matcher.hpp"
#include "adapter/module_names.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace trainx::adapter {
namespace {

/// In front of each name in the file: PeftModel holds a LoraModel, which holds the model.
constexpr const char* prefix = "base_model.model.";

/// Names of embeddings and heads whose base weights PEFT saves too if they are targets.
bool is_embedding_name(std::string_view leaf) {
  return leaf == "embed_tokens" || leaf == "lm_head";
}

std::string shape_of(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

/// Names inside hostile files are of any length and bytes.
std::string shown_name(const std::string& name) {
  constexpr std::size_t longest = 200;
  std::string text;
  for (const char c : name.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
  return "'" + text + (name.size() > longest ? "..." : "") + "'";
}

class Naming {
 public:
  Naming(std::span<const Module> modules, const Chosen& chosen,
         std::span<const std::string> parameters)
      : modules_(modules), chosen_(chosen), parameters_(parameters) {}

  std::vector<AdapterTensor> tensors() {
    nest_wrappers();
    for (const Target& target : chosen_.adapted) add_low_rank(target);
    for (const std::size_t module : chosen_.saved_whole)
      add_parameters(module, TensorRole::whole, "");
    for (const TokenRows& rows : chosen_.token_rows) add_rows(rows);
    if (saves_base_of_embeddings())
      for (const Target& target : chosen_.adapted)
        if (is_token_layer(modules_[target.module]))
          add_parameters(target.module, TensorRole::base, "base_layer.");
    std::ranges::sort(tensors_, {}, &AdapterTensor::name);
    return std::move(tensors_);
  }

 private:
  /// Wrappers of one module's parameters lie in one another, the first parameter's innermost.
  void nest_wrappers() {
    std::map<std::string, std::vector<std::size_t>> of_container;
    for (const Target& target : chosen_.adapted)
      if (const Module& module = modules_[target.module]; module.kind == ModuleKind::expert_tensor)
        of_container[container_of(module)].push_back(target.module);
    for (const auto& [container, wrapped] : of_container)
      for (std::size_t i = 0; i < wrapped.size(); ++i)
        levels_around_[wrapped[i]] = wrapped.size() - 1 - i;
  }

  static std::string container_of(const Module& module) {
    return module.name.substr(0, module.name.rfind('.'));
  }

  void add_low_rank(const Target& target) {
    const Module& module = modules_[target.module];
    const bool is_embedding = module.kind == ModuleKind::embedding;
    std::string stem = prefix + module.name + ".";
    if (module.kind == ModuleKind::expert_tensor) {
      stem = prefix + container_of(module) + ".";
      for (std::size_t i = 0; i < levels_around_[target.module]; ++i) stem += "base_layer.";
    }
    const std::int64_t rank = target.low_rank.rank * module.experts;
    tensors_.push_back({.name = stem + (is_embedding ? "lora_embedding_A" : "lora_A.weight"),
                        .module = target.module,
                        .role = TensorRole::a,
                        .dims = {rank, module.in},
                        .parameter = {}});
    tensors_.push_back({.name = stem + (is_embedding ? "lora_embedding_B" : "lora_B.weight"),
                        .module = target.module,
                        .role = TensorRole::b,
                        .dims = {module.out, rank},
                        .parameter = {}});
  }

  void add_rows(const TokenRows& rows) {
    const Module& module = modules_[rows.module];
    const std::int64_t width = module.kind == ModuleKind::embedding ? module.out : module.in;
    tensors_.push_back({.name = prefix + module.name + ".token_adapter.trainable_tokens_delta",
                        .module = rows.module,
                        .role = TensorRole::rows,
                        .dims = {std::ssize(rows.tokens), width},
                        .parameter = {}});
  }

  void add_parameters(std::size_t index, TensorRole role, const std::string& infix) {
    const Module& module = modules_[index];
    std::set<std::string> found;
    for (const std::string& parameter : parameters_)
      if (lies_in(parameter, module.name) && owner_of(parameter) == index) found.insert(parameter);
    // A tied weight is no parameter of its own, and PEFT saves its copy under its name.
    if (module.tied_to_embedding) found.insert(module.name + ".weight");
    for (const std::string& parameter : found) {
      const std::size_t at = module.kind == ModuleKind::expert_tensor ? parameter.size()
                                                                      : module.name.size() + 1;
      tensors_.push_back({.name = prefix + parameter.substr(0, at) + infix + parameter.substr(at),
                          .module = index,
                          .role = role,
                          .dims = {},
                          .parameter = parameter});
    }
  }

  /// The innermost module that a parameter lies in.
  std::size_t owner_of(const std::string& parameter) const {
    std::size_t owner = modules_.size(), longest = 0;
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (modules_[i].name.size() >= longest && lies_in(parameter, modules_[i].name)) {
        owner = i;
        longest = modules_[i].name.size();
      }
    return owner;
  }

  /// save_embedding_layers "auto" of PEFT's get_peft_model_state_dict.
  bool saves_base_of_embeddings() const {
    const Targets& targets = chosen_.written.targets;
    if (chosen_.written.trainable_tokens) return false;
    if (targets.kind == Targets::Kind::suffixes)
      return std::ranges::any_of(targets.suffixes, is_embedding_name);
    if (targets.kind != Targets::Kind::expression) return false;
    const TargetMatcher matcher(targets, "the adapter's targets");
    return std::ranges::any_of(modules_, [&](const Module& module) {
      return is_embedding_name(leaf_of(module.name)) && matcher.matches(module.name);
    });
  }

  static bool is_token_layer(const Module& module) {
    return module.input_embedding || (module.output_head && module.kind == ModuleKind::linear);
  }

  std::span<const Module> modules_;
  const Chosen& chosen_;
  std::span<const std::string> parameters_;
  std::map<std::size_t, std::size_t> levels_around_;
  std::vector<AdapterTensor> tensors_;
};

}  // namespace

std::vector<AdapterTensor> adapter_tensors(std::span<const Module> modules, const Chosen& chosen,
                                           std::span<const std::string> parameters) {
  return Naming(modules, chosen, parameters).tensors();
}

std::vector<AdapterTensor> base_tensors(std::span<const Module> modules, const Chosen& chosen,
                                        std::span<const std::string> parameters) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < modules.size(); ++i) by_name.emplace(modules[i].name, i);
  for (const Module& module : modules)
    if (module.kind == ModuleKind::expert_tensor) {
      by_name.erase(module.name);
      by_name.erase(std::string_view(module.name).substr(0, module.name.rfind('.')));
    }
  std::map<std::size_t, std::string> wrapped;  // what stands between module and parameter
  for (const Target& target : chosen.adapted) wrapped[target.module] = "base_layer.";
  for (const TokenRows& rows : chosen.token_rows)
    wrapped[rows.module] = "token_adapter.base_layer.";
  std::vector<AdapterTensor> tensors;
  for (const std::string& parameter : parameters) {
    const std::size_t end = parameter.rfind('.');
    if (end == std::string::npos) continue;  // of no module
    const auto module = by_name.find(std::string_view(parameter).substr(0, end));
    if (module == by_name.end() ||
        std::ranges::find(chosen.saved_whole, module->second) != chosen.saved_whole.end())
      continue;
    const auto infix = wrapped.find(module->second);
    tensors.push_back({.name = prefix + parameter.substr(0, end + 1) +
                               (infix == wrapped.end() ? "" : infix->second) +
                               parameter.substr(end + 1),
                       .module = module->second,
                       .role = TensorRole::base,
                       .dims = {},
                       .parameter = parameter});
  }
  return tensors;
}

void check_tensors(std::span<const AdapterTensor> expected, std::span<const FoundTensor> found,
                   const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw UserError(ExitCode::bad_data, path + ": " + what);
  };
  std::map<std::string_view, const AdapterTensor*> known;
  for (const AdapterTensor& tensor : expected) known[tensor.name] = &tensor;
  std::set<std::string_view> seen;
  for (const FoundTensor& tensor : found) {
    const auto it = known.find(tensor.name);
    if (it == known.end())
      refuse("tensor " + shown_name(tensor.name) +
             " belongs to no target of adapter_config.json in this model");
    if (!it->second->dims.empty() && it->second->dims != tensor.dims)
      refuse("tensor " + shown_name(tensor.name) + " has the shape " + shape_of(tensor.dims) +
             "; the model and adapter_config.json ask for " + shape_of(it->second->dims));
    if (!seen.insert(it->first).second)
      refuse("tensor " + shown_name(tensor.name) + " is there twice");
  }
  for (const AdapterTensor& tensor : expected)
    if (tensor.role != TensorRole::base && !seen.contains(tensor.name))
      refuse("tensor " + shown_name(tensor.name) + " is missing");
}

}  // namespace trainx::adapter
