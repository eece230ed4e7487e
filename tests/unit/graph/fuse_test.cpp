// What fuse makes of layers, as before and after pictures.
#include "graph/builder.hpp"
#include "graph/fuse.hpp"
#include "support/catch.hpp"

namespace fuse_test {

using namespace trainx;
using namespace trainx::graph;

namespace {

/// A line for each operation: block, name, inputs (parameters) > outputs.
std::string print(const Model& model) {
  const auto value = [&](ValueId v) {
    return v == none ? std::string("-") : model.values.at(static_cast<std::size_t>(v)).name;
  };
  std::string out;
  for (const Block& block : model.blocks)
    for (const Node& node : block.ops) {
      out += block.name + " " + std::string(operations::name_of(node.operation));
      for (const ValueId v : node.inputs)
        if (v != none) out += " " + value(v);
      out += " (";
      for (const ParameterId& p : node.parameters)
        if (p.index != none)
          out += (out.back() == '(' ? "" : " ") +
                 model.parameters.at(static_cast<std::size_t>(p.index)).spec.name;
      out += ") >";
      for (const ValueId v : node.outputs)
        if (v != none) out += " " + value(v);
      out += "\n";
    }
  return out;
}

constexpr std::int64_t C = 4;

ModelBuilder builder() {
  return ModelBuilder({.batch_size = 1, .length = 2}, {"tokens", "targets", "positions"});
}

Value embedded(ModelBuilder& m) {
  return m.embedding(
      {.hidden_size = C, .token = "t", .position = "p", .tokens = {5}, .positions = {2}});
}

template <class Norm>
void finish(ModelBuilder& m, Norm norm) {
  m.begin_head(
      {.expected_rows = 2, .chunk = 2, .targets = m.batch("targets").id, .predicted_rows = 1});
  m.loss(norm(), {.tied_to = "t", .classes = 5}, operations::CrossEntropy::Score::none);
}

Value mlp(ModelBuilder& m, Value x) {
  x = m.linear(x, "up", {.features = 8, .activation = operations::Activation::gelu_tanh});
  return m.linear(x, "down", {.features = C});
}

}  // namespace

TEST_CASE("a sum opens the block behind it, with its norm and the branch's bias") {
  ModelBuilder m = builder();
  Value h =
      m.residual(0, "mlp", embedded(m), [&](Value x) { return mlp(m, m.layer_norm(x, "n")); });
  finish(m, [&] { return m.layer_norm(h, "last"); });
  Model model = m.finish();
  CHECK(print(model) ==
        "embedding embedding tokens (t p) > residual0\n"
        "h0.mlp residual_norm residual0 (n.weight n.bias) > mean rstd normed\n"
        "h0.mlp linear normed (up.weight up.bias) > preactivation activated\n"
        "h0.mlp linear activated (down.weight down.bias) > branch0\n"
        "h0.mlp residual_norm residual0 branch0 () > residual1\n"
        "head residual_norm residual1 (last.weight last.bias) > mean rstd normed\n"
        "head linear normed (t) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
  fuse(model);
  CHECK(print(model) ==
        "embedding embedding tokens (t p) > residual0\n"
        "h0.mlp residual_norm residual0 (n.weight n.bias) > mean rstd normed\n"
        "h0.mlp linear normed (up.weight up.bias) > preactivation activated\n"
        "h0.mlp linear activated preactivation (down.weight up.bias) > branch0\n"
        "head residual_norm residual0 branch0 (last.weight last.bias down.bias) > residual1 mean "
        "rstd normed\n"
        "head linear normed (t) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
}

TEST_CASE("where the norm follows the sum, the sum is kept and seen through its norm") {
  ModelBuilder m = builder();
  Value h = embedded(m);
  for (int i = 0; i < 2; ++i)
    h = m.residual_then_norm(
        i, "mlp", h, [&](Value x) { return mlp(m, x); }, "n" + std::to_string(i));
  finish(m, [&] { return h; });
  Model model = m.finish();
  fuse(model);
  const Node& last = model.blocks.back().ops.front();
  const auto name = [&](ValueId v) { return model.values.at(static_cast<std::size_t>(v)).name; };
  CHECK(name(last.inputs.at(operations::ResidualNorm::residual)) == "residual1");
  CHECK(name(last.gradient_of.at(operations::ResidualNorm::residual)) == "normed");
  CHECK(model.parameters
            .at(static_cast<std::size_t>(
                last.parameters.at(operations::ResidualNorm::before_weight).index))
            .spec.name == "n0.weight");
  // the embedding's result needs no norm
  CHECK(model.blocks.at(2).ops.front().gradient_of.empty());
}

}  // namespace fuse_test
