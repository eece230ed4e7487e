#include "architectures/exported.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "exported/graph.hpp"
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace trainx::exported {
namespace {

using nlohmann::json;

constexpr std::size_t most_modules = 4096, most_nodes = 1 << 20, most_list = 1 << 16,
                      most_name = 1024, most_dims = 8, most_tensors = 1 << 18;
constexpr std::int64_t most_elements = std::int64_t{1} << 40;

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  ExportedGraph graph(const json& all) {
    if (!all.is_object()) fail("is no JSON object");
    const std::int64_t format = integer(at(all, "format"), "format");
    if (format != architectures::export_format)
      fail("has the format " + std::to_string(format) + ", this trainx reads " +
           std::to_string(architectures::export_format) + "; export the model again");
    ExportedGraph out;
    const json& parameters = at(all, "parameters");
    if (!parameters.is_object() || parameters.empty() || parameters.size() > most_tensors)
      fail("names no parameters, or too many");
    for (const auto& [name, dims] : parameters.items()) out.parameters[name] = dims_of(name, dims);
    for (const json& name : list(at(all, "unused"), most_tensors)) {
      out.unused.push_back(text(name));
      if (!out.parameters.contains(out.unused.back()))
        fail("has no parameter '" + out.unused.back() + "'");
    }
    const json& constants = at(all, "constants");
    if (!constants.is_object() || constants.size() > most_tensors)
      fail("names no constants, or too many");
    for (const auto& [name, dtype] : constants.items()) out.constants[name] = text(dtype);
    const json& graphs = at(all, "graphs");
    if (!graphs.is_object() || !graphs.contains("f32")) fail("has no graph of f32");
    for (const auto& [dtype, one] : graphs.items()) {
      if (dtype != "f32" && dtype != "bf16" && dtype != "f16")
        fail("has a graph of '" + dtype + "'");
      for (const json& m : list(at(one, "modules"), most_modules))
        out.graphs[dtype].push_back(module(m, out));
      if (out.graphs[dtype].empty()) fail("has a graph without modules");
    }
    for (const auto& [dtype, modules] : out.graphs) require_like(modules, out.graphs.at("f32"));
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::bad_data, path_ + " " + what);
  }
  const json& at(const json& of, const char* key) const {
    const auto found = of.is_object() ? of.find(key) : of.end();
    if (!of.is_object() || found == of.end()) fail("lacks '" + std::string(key) + "'");
    return *found;
  }
  std::int64_t integer(const json& of, const std::string& what) const {
    if (!of.is_number_integer() || (of.is_number_unsigned() && of.get<std::uint64_t>() > INT64_MAX))
      fail("has a " + what + " that is no whole number");
    return of.get<std::int64_t>();
  }
  std::string text(const json& of) const {
    if (!of.is_string() || of.get_ref<const std::string&>().empty() ||
        of.get_ref<const std::string&>().size() > most_name)
      fail("has a name that is none");
    return of.get<std::string>();
  }
  const json& list(const json& of, std::size_t most) const {
    if (!of.is_array() || of.size() > most) fail("has a list that is none, or is too long");
    return of;
  }
  std::vector<std::int64_t> dims_of(const std::string& name, const json& of) const {
    std::vector<std::int64_t> dims;
    std::int64_t elements = 1;
    for (const json& d : list(of, most_dims)) {
      dims.push_back(integer(d, "dimension"));
      if (dims.back() < 1 || dims.back() > most_elements / elements)
        fail("gives '" + name + "' a shape that is none");
      elements *= dims.back();
    }
    return dims;
  }
  std::vector<std::string> names(const json& of) const {
    std::vector<std::string> out;
    for (const json& name : list(of, most_tensors)) out.push_back(text(name));
    return out;
  }
  std::vector<Operand> operands(const json& of) const {
    std::vector<Operand> out;
    for (const json& o : list(of, most_tensors))
      out.push_back({text(at(o, "name")), text(at(o, "dtype"))});
    return out;
  }

  /// Below `known`: made before.
  std::int64_t value(const json& of, const std::vector<bool>& known) const {
    const std::int64_t number = integer(of, "value");
    if (number < 0 || number >= static_cast<std::int64_t>(known.size()) ||
        !known[static_cast<std::size_t>(number)])
      fail("reads a value " + std::to_string(number) + " before it is made");
    return number;
  }

  Argument argument(const json& of, const std::vector<bool>& known) const {
    using Kind = Argument::Kind;
    if (of.is_null()) return {};
    if (of.is_boolean()) return {.kind = Kind::boolean, .boolean = of.get<bool>(), .text = {}};
    if (of.is_number_integer())
      return {.kind = Kind::integer, .integer = integer(of, "number"), .text = {}};
    if (of.is_number()) return {.kind = Kind::real, .real = of.get<double>(), .text = {}};
    if (of.is_string()) return {.kind = Kind::text, .text = text(of)};
    if (of.is_array()) {
      Argument all{.kind = Kind::list, .text = {}};
      for (const json& each : list(of, most_list)) {
        if (each.is_array()) fail("has a list in a list of an operator");
        all.list.push_back(argument(each, known));
      }
      return all;
    }
    if (of.size() != 1) fail("has an argument that is none");
    const auto only = of.begin();
    const std::string& key = only.key();
    const json& of_key = *only;
    if (key == "value") return {.kind = Kind::value, .integer = value(of_key, known), .text = {}};
    if (key == "dtype") return {.kind = Kind::dtype, .text = text(of_key)};
    if (key == "memory_format") return {.kind = Kind::layout, .text = text(of_key)};
    if (key == "device") return {};
    if (key == "float") {
      const std::string word = text(of_key);
      const double infinite = std::numeric_limits<double>::infinity();
      return {.kind = Kind::real,
              .real = word == "inf"    ? infinite
                      : word == "-inf" ? -infinite
                                       : std::numeric_limits<double>::quiet_NaN(),
              .text = {}};
    }
    fail("has an argument '" + key.substr(0, 40) + "'");
  }

  Node node(const json& of, std::vector<bool>& known) const {
    Node n{text(at(of, "op")), {}, {}, {}, {}};
    if (of.contains("overload")) n.overload = text(of["overload"]);
    for (const json& a : list(at(of, "args"), most_list)) n.arguments.push_back(argument(a, known));
    if (of.contains("kwargs")) {
      if (!of["kwargs"].is_object()) fail("has kwargs that are no object");
      for (const auto& [key, a] : of["kwargs"].items()) n.named[key] = argument(a, known);
    }
    for (const json& v : list(at(of, "out"), most_list)) {
      const std::int64_t number = integer(v, "value");
      if (number != static_cast<std::int64_t>(known.size()))
        fail("makes its values in another order than they are numbered");
      n.outputs.push_back(number);
      known.push_back(true);
    }
    return n;
  }

  ModuleGraph module(const json& of, const ExportedGraph& all) const {
    ModuleGraph m;
    m.name = text(at(of, "name"));
    m.inputs = operands(at(of, "inputs")), m.parameters = operands(at(of, "parameters"));
    m.constants = names(at(of, "constants")), m.outputs = names(at(of, "outputs"));
    for (const Operand& p : m.parameters)
      if (!all.parameters.contains(p.name)) fail("has no parameter '" + p.name + "'");
    std::vector<bool> known(m.inputs.size() + m.parameters.size() + m.constants.size(), true);
    const json& nodes = list(at(of, "nodes"), most_nodes);
    for (const json& n : nodes) m.nodes.push_back(node(n, known));
    for (const json& r : list(at(of, "results"), most_list)) m.results.push_back(value(r, known));
    if (m.results.size() != std::max<std::size_t>(m.outputs.size(), 1))
      fail("has a module '" + m.name + "' of other results than outputs");
    m.values = static_cast<std::int64_t>(known.size());
    return m;
  }

  /// Graphs of several dtypes are the same modules.
  void require_like(const std::vector<ModuleGraph>& one, const std::vector<ModuleGraph>& other) {
    const auto names_of = [](const std::vector<Operand>& operands) {
      std::vector<std::string> names;
      for (const Operand& o : operands) names.push_back(o.name);
      return names;
    };
    if (!std::ranges::equal(one, other, [&](const ModuleGraph& a, const ModuleGraph& b) {
          return a.name == b.name && a.outputs == b.outputs &&
                 names_of(a.inputs) == names_of(b.inputs) &&
                 names_of(a.parameters) == names_of(b.parameters);
        }))
      fail("has graphs of different modules");
  }

  std::string path_;
};

}  // namespace

ExportedGraph parse_graph(const std::string& text, const std::string& path) {
  check_json_text(text, path);
  const json all = json::parse(text, nullptr, false);
  if (all.is_discarded()) throw UserError(ExitCode::bad_data, path + " is no JSON");
  return Reader(path).graph(all);
}

}  // namespace trainx::exported
