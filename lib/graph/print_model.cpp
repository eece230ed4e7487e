#include "graph/print_model.hpp"
#include "graph/model.hpp"

namespace trainx::graph {
namespace {

void append_parameters(std::string& out, const Model& model, const Node& op) {
  out += " (";
  for (const ParameterId& p : op.parameters) {
    if (p.index == none) continue;
    const auto name = [&](int k) -> const std::string& {
      return model.parameters.at(static_cast<std::size_t>(k)).spec.name;
    };
    if (out.back() != '(') out += " ";
    if (!model.parameters.at(static_cast<std::size_t>(p.index)).training.trained) out += "frozen:";
    out += name(p.index);
    if (p.count == 2) out += "|" + name(p.index + 1);
    if (p.count == 3) out += "|" + name(p.index + 1) + "|" + name(p.index + 2);
    if (p.count > 3) out += "..." + name(p.index + p.count - 1);
  }
  out += ") >";
}

}  // namespace

std::string print(const Model& model) {
  const auto name = [&](ValueId v) -> const std::string& {
    return model.values.at(static_cast<std::size_t>(v)).name;
  };
  std::string out;
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops) {
      out += block.name + " " + std::string(operations::name_of(op.operation));
      for (const ValueId v : op.inputs)
        if (v != none) out += " " + name(v);
      append_parameters(out, model, op);
      for (const ValueId v : op.outputs)
        if (v != none) out += " " + name(v);
      out += "\n";
    }
  if (model.head.chunk > 0 && model.head.chunk < model.head.expected_rows)
    out += "head, rows at a time: " + std::to_string(model.head.chunk) + "\n";
  return out;
}

}  // namespace trainx::graph
