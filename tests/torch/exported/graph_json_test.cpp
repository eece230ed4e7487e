// graph.json as a stranger may write it: each change of a sound one ends with 65.
#include "exported/graph.hpp"
#include "exported/interpreter.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <nlohmann/json.hpp>

namespace graph_json_test {

using namespace trainx;
using nlohmann::json;

namespace {

/// y = dropout(linear(x, w) + c) of rows, reshaped with sizes of x; then its sum.
json sound() {
  return json::parse(R"({
    "format": 1, "parameters": {"w": [3, 2]}, "unused": [], "constants": {"c": "f32"},
    "graphs": {"f32": {"modules": [
      {"name": "first", "inputs": [{"name": "x", "dtype": "f32"}],
       "parameters": [{"name": "w", "dtype": "f32"}], "constants": ["c"],
       "nodes": [
         {"op": "aten::linear", "args": [{"value": 0}, {"value": 1}], "out": [3]},
         {"op": "aten::add", "overload": "Tensor", "args": [{"value": 3}, {"value": 2}],
          "kwargs": {"alpha": 2}, "out": [4]},
         {"op": "aten::sym_size", "overload": "int", "args": [{"value": 0}, 0], "out": [5]},
         {"op": "scalar::mul", "args": [{"value": 5}, 3], "out": [6]},
         {"op": "aten::reshape", "args": [{"value": 4}, [{"value": 6}]], "out": [7]},
         {"op": "aten::split", "overload": "Tensor", "args": [{"value": 7}, 3],
          "out": [8, 9]},
         {"op": "aten::cat", "args": [[{"value": 9}, {"value": 8}]], "out": [10]},
         {"op": "aten::dropout", "args": [{"value": 10}, 0.5, true], "out": [11]}],
       "results": [11], "outputs": ["first.0"]},
      {"name": "second", "inputs": [{"name": "first.0", "dtype": "f32"}], "parameters": [],
       "constants": [], "nodes": [
         {"op": "aten::sum", "args": [{"value": 0}], "kwargs": {"dtype": {"dtype": "f32"}},
          "out": [1]}],
       "results": [1], "outputs": []}]}}})");
}

std::string told(const std::string& text) {
  return user_error_of([&] {
    const exported::ExportedGraph graph = exported::parse_graph(text, "graph.json");
    for (const exported::ModuleGraph& m : graph.graphs.at("f32"))
      exported::Interpreter(m, std::vector<at::Tensor>(m.constants.size(), at::ones({3})), "g");
  });
}

/// With the value at `pointer` replaced.
std::string told_of(const std::string& pointer, const json& value) {
  json all = sound();
  all[json::json_pointer(pointer)] = value;
  return told(all.dump());
}

const std::string nodes = "/graphs/f32/modules/0/nodes";

}  // namespace

TEST_CASE("an export's module computes what its nodes say, and what its sizes are") {
  const exported::ExportedGraph graph = exported::parse_graph(sound().dump(), "graph.json");
  const exported::Interpreter first(graph.graphs.at("f32")[0], {at::full({3}, 5.0)}, "g");
  const at::Tensor x = at::arange(4, at::kFloat).view({2, 2}), w = at::ones({3, 2});
  const auto placed = first.on(at::kCPU);
  CHECK(first.on(at::kCPU) == placed);
  const at::Tensor y = placed->run({x, w}, false).at(0);
  REQUIRE(y.sizes() == at::IntArrayRef({6}));
  CHECK(at::allclose(y.narrow(0, 0, 3), at::full({3}, 15.0)));  // 2 + 3 + 2 * 5
  CHECK(at::allclose(y.narrow(0, 3, 3), at::full({3}, 11.0)));
  const at::Tensor dropped = placed->run({x, w}, true).at(0);
  for (int k = 0; k < 6; ++k) {
    const float got = dropped[k].item<float>(), kept = 2 * y[k].item<float>();
    CHECK((got == 0 || got == kept));
  }
}

TEST_CASE("a graph that was changed is refused with 65") {
  CHECK(told(sound().dump()) == "nothing thrown");
  for (const std::string text :
       {"", "[]", "{}", "{\"format\": 1}", "null", "{\"format\": 1, \"format\": 2"})
    CHECK(told(text).starts_with("65"));
  CHECK(told(std::string(1000, '[')).starts_with("65"));
  CHECK(told(std::string("{\0}", 3)).starts_with("65"));
  const std::pair<std::string, json> changes[]{
      {"/format", 2},
      {"/format", "1"},
      {"/parameters", json::object()},
      {"/parameters/w", json::array({3, -2})},
      {"/parameters/w", json::array({3, 0})},
      {"/parameters/w", json::array({std::int64_t{1} << 40, std::int64_t{1} << 40})},
      {"/parameters/w", json::array({1, 1, 1, 1, 1, 1, 1, 1, 1})},
      {"/unused", json::array({"v"})},
      {"/constants", 3},
      {"/graphs", json::object()},
      {"/graphs/f32/modules", json::array()},
      {"/graphs/f16", json::object()},
      {"/graphs/f32/modules/0/parameters/0/name", "v"},
      {"/graphs/f32/modules/0/inputs/0/dtype", "f31"},
      {"/graphs/f32/modules/0/name", ""},
      {"/graphs/f32/modules/0/results", json::array({12})},
      {"/graphs/f32/modules/0/results", json::array({5})},
      {"/graphs/f32/modules/0/results", json::array({11, 10})},
      {nodes + "/0/op", "aten::no_such_operator"},
      {nodes + "/0/op", "aten::from_file"},
      {nodes + "/0/op", "aten::relu_"},
      {nodes + "/0/op", "prim::Print"},
      {nodes + "/0/op", "scalar::system"},
      {nodes + "/0/op", 5},
      {nodes + "/1/overload", "Elsewhere"},
      {nodes + "/1/kwargs", json{{"beta", 2}}},
      {nodes + "/1/kwargs", json{{"alpha", "two"}}},
      {nodes + "/0/args/0", json{{"value", 3}}},  // its own
      {nodes + "/0/args/0", json{{"value", -1}}},
      {nodes + "/0/args/0", json{{"value", 1e300}}},
      {nodes + "/0/args/0", json{{"file", "/etc/passwd"}}},
      {nodes + "/0/args/0", nullptr},
      {nodes + "/0/args", json::array({json{{"value", 0}}})},
      {nodes + "/0/args", json::array({json{{"value", 0}}, json{{"value", 1}}, nullptr, 4})},
      {nodes + "/0/out", json::array({4})},
      {nodes + "/0/out", json::array({3, 4})},
      {nodes + "/3/args/0", json{{"value", 4}}},  // a tensor where a number is wanted
      {nodes + "/4/args/1", json::array({json{{"value", 4}}})},
      {nodes + "/6/args/0", json::array({json::array({json{{"value", 8}}})})},
      {nodes + "/6/args/0", json::array({json{{"value", 6}}, "text"})},
  };
  for (const auto& [pointer, value] : changes) {
    INFO(pointer << " = " << value.dump());
    CHECK(told_of(pointer, value).starts_with("65"));
  }
}

TEST_CASE("graphs of two types are the same modules") {
  json all = sound();
  all["graphs"]["bf16"] = all["graphs"]["f32"];
  CHECK(told(all.dump()) == "nothing thrown");
  all["graphs"]["bf16"]["modules"].erase(1);
  CHECK(told(all.dump()).starts_with("65"));
}

TEST_CASE("an operator that fails, fails with LibTorch's error") {
  const exported::ExportedGraph graph = exported::parse_graph(sound().dump(), "graph.json");
  const exported::Interpreter first(graph.graphs.at("f32")[0], {at::ones({3})}, "g");
  const auto placed = first.on(at::kCPU);
  CHECK_THROWS_AS(placed->run({at::ones({2, 5}), at::ones({3, 2})}, false), c10::Error);
  // 3 pieces
  CHECK_THROWS_AS(placed->run({at::ones({3, 2}), at::ones({3, 2})}, false), c10::Error);
  CHECK_THROWS_AS(placed->run({at::ones({2, 2})}, false), c10::Error);
}

}  // namespace graph_json_test
