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

ModelBuilder builder(bool gpu = false) {
  return ModelBuilder({.batch_size = 1, .length = 2, .gpu = gpu}, {"tokens", "targets", "positions"});
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

Value mlp(ModelBuilder& m, Value x, const std::string& up = "up",
          const std::string& down = "down") {
  x = m.linear(x, up, {.features = 8, .activation = operations::Activation::gelu_tanh});
  return m.linear(x, down, {.features = C});
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

TEST_CASE("a product on a GPU adds its result to the residual") {
  const auto built = [](int layers, bool pre_norm) {
    ModelBuilder m = builder(true);
    Value h = embedded(m);
    for (int i = 0; i < layers; ++i) {
      const std::string n = std::to_string(i);
      h = m.residual(i, "mlp", h, [&](Value x) {
        return mlp(m, pre_norm ? m.layer_norm(x, "n" + n) : x, "up" + n, "down" + n);
      });
    }
    finish(m, [&] { return m.layer_norm(h, "last"); });
    return m.finish();
  };
  Model model = built(2, true);
  Model unlike = model;
  fuse(model);
  CHECK(print(model) ==
        "embedding embedding tokens (t p) > residual0\n"
        "h0.mlp residual_norm residual0 (n0.weight n0.bias) > mean rstd normed\n"
        "h0.mlp linear normed (up0.weight up0.bias) > preactivation activated\n"
        "h0.mlp linear activated preactivation residual0 (down0.weight down0.bias up0.bias) > "
        "residual1\n"
        "h1.mlp residual_norm residual1 (n1.weight n1.bias down0.bias) > mean rstd normed\n"
        "h1.mlp linear normed (up1.weight up1.bias) > preactivation activated\n"
        "h1.mlp linear activated preactivation residual1 (down1.weight down1.bias up1.bias) > "
        "residual2\n"
        "head residual_norm residual2 (last.weight last.bias down1.bias) > mean rstd normed\n"
        "head linear normed (t) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
  SECTION("not where asked not to") { fuse(unlike, false); }
  SECTION("not where the norm behind it would be the only one to read its gradient") {
    for (ModelParameter& p : unlike.parameters)
      if (p.spec.name.ends_with("weight")) p.training.trained = false;
    fuse(unlike);
  }
  SECTION("not where no norm of the block gives the residual its gradient") {
    unlike = built(2, false);
    fuse(unlike);
  }
  SECTION("not where the head picks rows") {
    unlike.head.rows = operations::HeadRows::targets;
    fuse(unlike);
    CHECK(std::get<operations::ResidualNorm>(unlike.blocks[2].ops.front().operation).sum_continues);
  }
  CHECK(std::get<operations::ResidualNorm>(unlike.blocks.back().ops.front().operation).adds);
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
