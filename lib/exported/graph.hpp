// graph.json as read: modules of nodes over numbered values. Values of a module are its inputs,
// parameters and constants, in this order, then what its nodes make.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainx::exported {

/// An argument of an operator.
struct Argument {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, dtype, layout, value, list };
  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t integer = 0;  // of value: its number
  double real = 0;
  std::string text;  // of dtype: trainx's word; of layout: a memory format's
  std::vector<Argument> list = {};
};

struct Node {
  std::string op, overload;  // "aten::add", "Tensor"; "scalar::mul" for numbers made of sizes
  std::vector<Argument> arguments;
  std::map<std::string, Argument> named;
  std::vector<std::int64_t> outputs;
};

struct Operand {
  std::string name, dtype;  // the type that the graph computes with
};

struct ModuleGraph {
  std::string name;
  std::vector<Operand> inputs, parameters;
  std::vector<std::string> constants, outputs;
  std::vector<Node> nodes;
  std::vector<std::int64_t> results;  // values
  std::int64_t values = 0;            // how many there are
};

struct ExportedGraph {
  std::map<std::string, std::vector<std::int64_t>> parameters;  // dims by name
  std::vector<std::string> unused;                         // saved, but nothing depends on them
  std::map<std::string, std::string> constants;            // dtype by name
  std::map<std::string, std::vector<ModuleGraph>> graphs;  // by dtype: "f32", "bf16"
};

/// Reads graph.json. Everything in it is checked: sizes, names, that values are made before they
/// are read, that graphs agree on their modules. UserError 65 naming `path`.
ExportedGraph parse_graph(const std::string& text, const std::string& path);

}  // namespace trainx::exported
