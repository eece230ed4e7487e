#include "model/custom/registry.hpp"
#include "architectures/exported.hpp"
#include "core/error.hpp"
#include "operations/module/module_state.hpp"
#include "options/registry.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace trainx {
namespace {

[[noreturn]] void refuse(const architectures::CustomDims& dims, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model " + dims.options.name + ": " + sentence);
}

bool is_word(const std::string& s, std::string_view more) {
  return !s.empty() && std::ranges::all_of(s, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || more.find(c) != std::string_view::npos;
  });
}

/// An exported model's parameters have the names of its Hugging Face folder.
std::string saved_name(const architectures::CustomDims& dims, const GraphModule& m,
                       const NamedTensor& p) {
  return architectures::is_exported(dims.options) ? p.name : m.name + "." + p.name;
}

void check_module(const architectures::CustomDims& dims, const GraphModule& m) {
  const std::string who = "module '" + m.name + "'";
  if (!is_word(m.name, "_-")) refuse(dims, who + " needs a name of letters, digits, '_' and '-'");
  if ((!m.forward && !m.loss) || !m.set_training)
    refuse(dims, who + " has no forward or no set_training");
  for (const NamedTensor& p : m.parameters) {
    if (!p.tensor.requires_grad())
      refuse(dims, who + ": parameter '" + p.name +
                       "' wants no gradient; make it a buffer, trainx trains every parameter");
    if (p.tensor.scalar_type() != at::kFloat)
      refuse(dims, who + ": parameter '" + p.name + "' is " +
                       c10::toString(p.tensor.scalar_type()) +
                       "; build modules in float, precision.compute makes them others");
  }
}

// Names of batch tensors and of keys in jsonl lines that trainx gives a meaning of its own.
const std::set<std::string>& names_of_trainx() {
  static const std::set<std::string> names{
      "tokens",         "targets",         "labels",          "positions",     "lengths",
      "token_types",    "document_starts", "input_ids",       "target_tokens", "label_values",
      "attention_mask", "token_type_ids",  "document_lengths"};
  return names;
}

void check_fields(const architectures::CustomDims& dims, const std::vector<Field>& fields) {
  std::set<std::string> seen;
  for (const Field& f : fields) {
    const std::string who = "field '" + f.name + "'";
    if (!is_word(f.name, "_-.")) refuse(dims, who + " needs a name of letters, digits, '_-.'");
    if (names_of_trainx().contains(f.name))
      refuse(dims, who + ": trainx reads that name itself; call your own field otherwise");
    if (!seen.insert(f.name).second) refuse(dims, who + " is declared twice");
    if (f.dims.size() > 5 || std::ranges::any_of(f.dims, [](std::int64_t d) { return d < 1; }))
      refuse(dims, c10::str(who, " has the shape ", at::IntArrayRef(f.dims),
                            "; it takes at most 5 dimensions, each at least 1"));
  }
}

/// Each value is made once, before it is read; each has a reader.
void check_values(const architectures::CustomDims& dims, const Graph& graph) {
  std::map<std::string, bool> read;  // by value of a module
  const bool classes = dims.task == architectures::Task::classification;
  std::set<std::string> known{"tokens", "lengths", classes ? "labels" : "targets"};
  if (dims.task == architectures::Task::seq2seq) known.insert("target_tokens");
  for (const Field& f : graph.fields) known.insert(f.name);
  for (const GraphModule& m : graph.modules) {
    const std::string who = "module '" + m.name + "'";
    const bool last = &m == &graph.modules.back();
    if (m.inputs.empty()) refuse(dims, who + " has no inputs");
    for (const std::string& input : m.inputs) {
      if (!known.contains(input))
        refuse(dims, who + " reads '" + input +
                         "', which is no field and no output of a module before it");
      if (const auto at = read.find(input); at != read.end()) at->second = true;
    }
    if (m.loss && !last) refuse(dims, who + " returns a loss and is not the last module");
    if (last ? !m.outputs.empty() : m.outputs.empty())
      refuse(dims, who + (last ? " is the last one, whose loss nobody reads: leave its outputs out"
                               : " has no outputs"));
    for (const std::string& output : m.outputs) {
      if (!is_word(output, "_-."))
        refuse(dims, who + ": value '" + output + "' needs a name of letters, digits, '_-.'");
      if (names_of_trainx().contains(output) || !known.insert(output).second)
        refuse(dims, who + " makes '" + output + "', which there is already");
      read[output] = false;
    }
  }
  for (const auto& [value, has_reader] : read)
    if (!has_reader) refuse(dims, "no module reads the value '" + value + "'; leave it out");
}

}  // namespace

Graph::Graph(std::vector<Module> chain) {
  std::string value = "tokens";
  for (Module& m : chain) {
    const bool last = &m == &chain.back();
    GraphModule node;
    node.inputs = {value};
    if (!last) node.outputs = {value = m.name + ".out"};
    node.name = std::move(m.name);
    node.parameters = std::move(m.parameters), node.buffers = std::move(m.buffers);
    if (m.forward)
      node.forward = [forward = std::move(m.forward)](const std::vector<at::Tensor>& x) {
        return std::vector<at::Tensor>{forward(x.at(0))};
      };
    node.set_training = std::move(m.set_training);
    node.owner = std::move(m.owner);
    modules.push_back(std::move(node));
  }
}

void add_model_definition(ModelDefinition definition) {
  options::registry<ModelDefinition>().push_back(std::move(definition));
}

namespace model {

const std::vector<ModelDefinition>& model_definitions() {
  return options::registry<ModelDefinition>();
}

const ModelDefinition& model_definition(const std::string& name) {
  for (const ModelDefinition& d : model_definitions())
    if (d.name == name) return d;
  throw InternalError("this worker has no model " + name);
}

std::vector<architectures::CustomOptions> model_descriptions() {
  std::vector<architectures::CustomOptions> out;
  for (const ModelDefinition& d : model_definitions())
    out.push_back({d.name, d.summary, d.options});
  return out;
}

BuiltGraph build_graph(const architectures::CustomDims& dims, std::uint64_t seed) {
  const ModelDefinition& definition = model_definition(dims.options.name);
  operations::seed_generator(seed);
  BuiltGraph built;
  try {
    static_cast<Graph&>(built) = definition.build(
        dims.options.fields, {dims.max_positions, dims.vocab_size, dims.num_labels});
  } catch (const UserError&) { throw; } catch (const c10::Error& e) {
    refuse(dims, std::string("cannot be built: ") + e.what_without_backtrace());
  } catch (const std::exception& e) { refuse(dims, std::string("cannot be built: ") + e.what()); }
  if (built.modules.empty()) refuse(dims, "it has no module");
  check_fields(dims, built.fields);
  std::set<std::string> names;
  std::map<const void*, std::string> saved;  // by tensor
  for (GraphModule& m : built.modules) {
    check_module(dims, m);
    if (!names.insert(m.name).second) refuse(dims, "two modules are called '" + m.name + "'");
    // a tensor once, however many names the module has for it
    std::set<const void*> own;
    std::erase_if(m.parameters, [&](const NamedTensor& p) {
      return !own.insert(p.tensor.unsafeGetTensorImpl()).second;
    });
    auto& of_module = built.saved_names.emplace_back();
    for (const NamedTensor& p : m.parameters)
      of_module.push_back(
          saved.try_emplace(p.tensor.unsafeGetTensorImpl(), saved_name(dims, m, p)).first->second);
  }
  check_values(dims, built);
  return built;
}

}  // namespace model
}  // namespace trainx
