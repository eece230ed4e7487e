// Exported graphs on a device, for which LibTorch's meta device stands in: it computes shapes
// alone, and refuses tensors of the host beside its own as a GPU does.
#include "exported/gpu_calls.hpp"
#include "exported/graph.hpp"
#include "exported/interpreter.hpp"
#include "operations/module/keyed_dropout.hpp"
#include "support/catch.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <limits>
#include <utility>

namespace placed_graph_test {

using namespace trainx;
using exported::Interpreter;
using nlohmann::json;

namespace {

struct Written {
  std::string op, overload;
  json arguments, named = json::object();
  int results = 1;
};

json value(int number) { return {{"value", number}}; }
json dtype(const std::string& word) { return {{"dtype", word}}; }

/// A module of floating inputs x0, x1, ..., then constants, then what its nodes make.
Interpreter module_of(int inputs, std::vector<at::Tensor> constants,
                      const std::vector<Written>& nodes, const std::string& type = "f32") {
  json m{{"name", "m"}, {"parameters", json::array()}, {"outputs", json::array()}};
  for (int k = 0; k < inputs; ++k)
    m["inputs"].push_back({{"name", "x" + std::to_string(k)}, {"dtype", type}});
  m["constants"] = json::array();
  json types = json::object();
  for (std::size_t k = 0; k < constants.size(); ++k) {
    m["constants"].push_back("c" + std::to_string(k));
    types["c" + std::to_string(k)] = "f32";
  }
  int next = inputs + static_cast<int>(constants.size());
  for (const Written& w : nodes) {
    json node{{"op", "aten::" + w.op}, {"args", w.arguments}, {"out", json::array()}};
    if (!w.overload.empty()) node["overload"] = w.overload;
    if (!w.named.empty()) node["kwargs"] = w.named;
    for (int k = 0; k < w.results; ++k) node["out"].push_back(next++);
    m["nodes"].push_back(node);
  }
  m["results"] = {m["nodes"].back()["out"][0]};
  const json all{{"format", 1},
                 {"parameters", {{"w", {1}}}},
                 {"unused", json::array()},
                 {"constants", types},
                 {"graphs", {{"f32", {{"modules", {m}}}}}}};
  const auto graph = exported::parse_graph(all.dump(), "graph.json");
  return {graph.graphs.at("f32")[0], std::move(constants), "g"};
}

at::Tensor on_meta(at::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

std::int64_t calls(const exported::PlacedGraph& graph, const std::string& op) {
  return std::ranges::count(graph.operators(), "aten::" + op);
}

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) of value 0, with `cubed` in place of 0.044715.
std::vector<Written> gelu_by_parts(double cubed) {
  return {{"mul", "Tensor", {value(0), 0.5}},
          {"pow", "Tensor_Scalar", {value(0), 3.0}},
          {"mul", "Tensor", {value(2), cubed}},
          {"add", "Tensor", {value(0), value(3)}},
          {"mul", "Tensor", {value(4), 0.7978845608028654}},
          {"tanh", "", {value(5)}},
          {"add", "Tensor", {value(6), 1.0}},
          {"mul", "Tensor", {value(1), value(7)}}};
}

/// Of x (value 0) and a weight (value 1), as families of Llama write it.
std::vector<Written> rms_norm_by_parts() {
  return {{"_to_copy", "", {value(0)}, {{"dtype", dtype("f32")}}},
          {"pow", "Tensor_Scalar", {value(2), 2}},
          {"mean", "dim", {value(3), json::array({-1}), true}},
          {"add", "Tensor", {value(4), 1e-5}},
          {"rsqrt", "", {value(5)}},
          {"mul", "Tensor", {value(2), value(6)}},
          {"_to_copy", "", {value(7)}, {{"dtype", dtype("f32")}}},
          {"mul", "Tensor", {value(1), value(8)}}};
}

at::Tensor run(const Interpreter& of, std::vector<at::Tensor> operands, bool training) {
  return of.on(operands.at(0).device())->run(operands, training).at(0);
}

}  // namespace

TEST_CASE("what factories make and constants lie where the operands do") {
  // 1: a constant; 2 to 6: made of nothing; all are added to x
  const Interpreter of =
      module_of(1, {at::ones({4})},
                {{"arange", "", {4}},
                 {"full", "", {json::array({3, 4}), 2.0}},
                 {"zeros", "", {json::array({4})}},
                 {"scalar_tensor", "", {3.0}},
                 {"linspace", "", {0.0, 1.0, 4}},
                 {"eye", "", {4}},
                 {"cat", "", {json::array({value(4), value(4)})}},
                 {"add", "Tensor", {value(0), value(1)}},
                 {"add", "Tensor", {value(9), value(2)}},
                 {"add", "Tensor", {value(10), value(3)}},
                 {"add", "Tensor", {value(11), value(4)}},
                 {"add", "Tensor", {value(12), value(5)}},
                 {"add", "Tensor", {value(13), value(6)}},
                 {"matmul", "", {value(14), value(7)}},
                 {"to", "device", {value(15), json{{"device", "cpu"}}, dtype("f32")}}});
  const at::Tensor y = run(of, {on_meta({3, 4})}, true);
  CHECK(y.is_meta());
  CHECK(y.sizes() == at::IntArrayRef({3, 4}));
  CHECK(run(of, {at::ones({3, 4})}, true).is_cpu());
}

TEST_CASE("operators that would wait for a GPU become others") {
  const at::Tensor x = at::randn({2, 3}), mask = at::arange(2).view({2, 1}) > 0;
  exported::Call fill;
  fill.op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::masked_fill", "Tensor");
  std::vector<c10::IValue> stack;
  for (const at::Tensor& t : {x, mask, at::ones({})}) fill.slots.emplace_back().constant = t;
  exported::suit_gpu(fill);
  CHECK(fill.op->schema().name() == "aten::where");
  for (const exported::Slot& slot : fill.slots) stack.push_back(slot.constant);
  fill.op->callBoxed(stack);
  CHECK(at::equal(stack.at(0).toTensor()[0], x[0]));
  CHECK(at::equal(stack.at(0).toTensor()[1], at::ones({3})));

  const Interpreter attention = module_of(4, {},
                                          {{"_scaled_dot_product_flash_attention_for_cpu",
                                            "",
                                            {value(0), value(1), value(2), 0.0, false},
                                            {{"attn_mask", value(3)}, {"scale", 0.5}},
                                            2}});
  CHECK(attention.on(at::kMeta)->operators() ==
        std::vector<std::string>{"aten::scaled_dot_product_attention"});
  const at::Tensor q = at::randn({2, 3, 5, 8}), seen = at::randn({2, 1, 5, 5});
  CHECK(run(attention, {q, q, q, seen}, true).sizes() == q.sizes());
}

TEST_CASE("GELU as GPT-2 writes it is one operator, with its gradient") {
  const Interpreter parts = module_of(1, {}, gelu_by_parts(0.044715));
  CHECK(parts.on(at::kCPU)->operators() == std::vector<std::string>{"aten::gelu"});
  const at::Tensor x = at::randn({7, 5}).requires_grad_(true);
  const at::Tensor y = run(parts, {x}, true), want = at::gelu(x, "tanh");
  CHECK(at::equal(y, want));
  const at::Tensor inner = 0.7978845608028654 * (x + 0.044715 * x.pow(3));
  CHECK(at::allclose(y, 0.5 * x * (1 + inner.tanh()), 1e-5, 1e-6));
  // another number is another function
  CHECK(calls(*module_of(1, {}, gelu_by_parts(0.05)).on(at::kCPU), "gelu") == 0);
}

TEST_CASE("RMSNorm is one operator") {
  const Interpreter parts = module_of(2, {}, rms_norm_by_parts());
  CHECK(parts.on(at::kCPU)->operators() == std::vector<std::string>{"aten::rms_norm"});
  const auto placed = parts.on(at::kMeta);
  CHECK(placed->operators() == std::vector<std::string>{"aten::rms_norm"});
  CHECK(placed->run({on_meta({2, 3, 8}), on_meta({8})}, true).at(0).sizes() ==
        at::IntArrayRef({2, 3, 8}));
  const at::Tensor x = at::randn({4, 8}), w = at::randn({8});
  CHECK(at::allclose(run(parts, {x, w}, true), at::rms_norm(x, {8}, w, 1e-5), 1e-5, 1e-6));
}

TEST_CASE("RoPE is one call on a CPU, and stays as it is elsewhere") {
  const auto rotation = [](int bound) {
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    return module_of(3, {},
                     {{"mul", "Tensor", {value(0), value(1)}},
                      {"slice", "Tensor", {value(0), 3, 0, bound}},
                      {"slice", "Tensor", {value(0), 3, 4, end}},
                      {"neg", "", {value(5)}},
                      {"cat", "", {json::array({value(6), value(4)}), -1}},
                      {"mul", "Tensor", {value(7), value(2)}},
                      {"add", "Tensor", {value(3), value(8)}}});
  };
  const Interpreter halves = rotation(4);
  CHECK(halves.on(at::kCPU)->operators() == std::vector<std::string>{"aten::add"});
  CHECK(calls(*halves.on(at::kMeta), "neg") == 1);
  CHECK(calls(*rotation(3).on(at::kCPU), "neg") == 1);
  // heads of 8, and of 10, whose halves are others
  for (const std::int64_t width : {8, 10}) {
    const at::Tensor x = at::randn({2, 3, 5, width}), cos = at::randn({5, width}),
                     sin = at::randn({5, width});
    const at::Tensor turned = at::cat({-x.slice(-1, 4, width), x.slice(-1, 0, 4)}, -1);
    CHECK(at::allclose(run(halves, {x, cos, sin}, true), x * cos + turned * sin, 1e-5, 1e-6));
  }
}

TEST_CASE("SwiGLU is one call on a CPU, and stays as it is elsewhere") {
  const Interpreter gate =
      module_of(2, {}, {{"silu", "", {value(0)}}, {"mul", "Tensor", {value(2), value(1)}}});
  CHECK(gate.on(at::kCPU)->operators() == std::vector<std::string>{"aten::mul"});
  CHECK(calls(*gate.on(at::kMeta), "silu") == 1);
  const at::Tensor x = at::randn({4, 5}), one = at::randn({1, 5});
  for (const at::Tensor& up : {at::randn({4, 5}), one})
    CHECK(at::allclose(run(gate, {x, up}, true), at::silu(x) * up, 1e-5, 1e-6));
}

TEST_CASE("dropout does not depend on how a batch is cut, and draws nothing in evaluation") {
  const Interpreter of =
      module_of(1, {},
                {{"native_dropout", "", {value(0), 0.5, true}, json::object(), 2},
                 {"dropout", "", {value(1), 0.25, true}},
                 {"scaled_dot_product_attention",
                  "",
                  {value(3), value(3), value(3)},
                  {{"attn_mask", nullptr}, {"dropout_p", 0.5}, {"is_causal", true}}}});
  const at::Tensor x = at::randn({4, 2, 6, 8}), positions = at::arange(10, 14, at::kLong);
  tensor::RandomKey key;
  key.seed = 5;
  const auto drawn = [&](std::int64_t first, std::int64_t count) {
    const operations::DropoutScope scope(key, positions.narrow(0, first, count));
    return run(of, {x.narrow(0, first, count)}, true);
  };
  const at::Tensor whole = drawn(0, 4);
  CHECK(at::equal(drawn(0, 4), whole));
  CHECK(at::allclose(drawn(1, 2), whole.narrow(0, 1, 2), 1e-6, 1e-6));
  CHECK(at::equal(run(of, {x}, false), run(of, {x}, false)));
  CHECK_FALSE(at::allclose(run(of, {x}, false), whole));
}

TEST_CASE("attention that keeps no graph has the bits of one that does") {
  // the mask has a gradient: LibTorch computes that in another way
  const Interpreter of = module_of(2, {},
                                   {{"scaled_dot_product_attention",
                                     "",
                                     {value(0), value(0), value(0)},
                                     {{"attn_mask", value(1)}}}});
  const at::Tensor x = at::randn({2, 3, 40, 16}).requires_grad_(true),
                   mask = at::randn({1, 3, 40, 40}).requires_grad_(true);
  const at::Tensor kept = run(of, {x, mask}, true);
  REQUIRE(kept.requires_grad());
  const at::NoGradGuard no_gradients;
  const at::Tensor anew = run(of, {x, mask}, true);
  CHECK_FALSE(anew.requires_grad());
  CHECK(at::equal(kept, anew));
}

}  // namespace placed_graph_test
