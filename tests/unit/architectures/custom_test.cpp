// Graphs of a user's chain of modules.
#include "architectures/custom.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/saved_layout.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>
#include "support/catch.hpp"

namespace custom_test {

using namespace trainx;
using namespace trainx::architectures;
using program::How;
using program::Op;
using program::Role;

namespace {

CustomShape shape_of(std::int64_t B, program::Bytes graph_bytes, program::Bytes library_bytes) {
  CustomShape shape{.micro_batch_size = B, .length = 4, .library_bytes = library_bytes};
  const auto value = [&](const std::string& name) {
    return std::vector<CustomValue>{{name, {B, 4, 6}}};
  };
  shape.modules = {{"embedding",
                    {{"embedding.weight", {11, 6}}},
                    {"tokens"},
                    value("embedding.out"),
                    graph_bytes},
                   {"inner",
                    {{"inner.bias", {6}}, {"inner.weight", {6, 6}}, {"inner.gain", {6}}},
                    {"embedding.out"},
                    value("inner.out"),
                    0},
                   {"squash", {}, {"inner.out"}, value("squash.out"), graph_bytes},
                   {"head", {{"head.weight", {11, 6}}}, {"squash.out"}, {}, 0}};
  return shape;
}

CustomDims described(bool classification = false) {
  CustomDims dims{.options = {.name = "chain"}, .vocab_size = 11, .max_positions = 8};
  if (classification) dims.task = Task::classification, dims.num_labels = 3;
  dims.shapes = {shape_of(2, 100, 1000), shape_of(6, 201, 1401)};
  return dims;
}

/// Each use of the phase: r(ead), o(verwrite) or a(ccumulate), and the slot.
std::vector<std::string> uses_of(const program::BlockSpec& block, Op op) {
  std::vector<std::string> out;
  for (const auto& u : block.phases.at(op).uses)
    out.push_back((u.how == How::read        ? "r "
                   : u.how == How::overwrite ? "o "
                                             : "a ") +
                  block.slots.at(static_cast<std::size_t>(u.slot)).name);
  std::ranges::sort(out);
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("modules are blocks, each a layer of its own, and the last has the loss") {
  const program::ModelGraph graph = custom_graph(described(), 2, 4, DType::f32);
  REQUIRE(graph.blocks.size() == 4);
  Names names, groups, values;
  for (const auto& b : graph.blocks) names.push_back(b.name);
  for (const auto& g : graph.groups) groups.push_back(g.name);
  for (const auto& v : graph.values) values.push_back(v.name);
  CHECK(names == Names{"embedding", "inner", "squash", "head"});
  CHECK(groups == Names{"embedding", "inner", "head"});
  CHECK(values == Names{"embedding.out", "inner.out", "squash.out"});
  CHECK(graph.layers() == 3);
  CHECK(graph.blocks[3].layer == program::none);
  CHECK(graph.library_bytes == 1000);
  CHECK(graph.tokens == 8);
  using Uses = Names;
  CHECK(uses_of(graph.blocks[0], Op::forward) ==
        Uses{"o embedding.out", "o graph", "r embedding", "r positions", "r tokens"});
  CHECK(uses_of(graph.blocks[0], Op::backward) ==
        Uses{"a d_embedding", "r d_embedding.out", "r embedding", "r graph", "r tokens"});
  CHECK(uses_of(graph.blocks[2], Op::forward) ==
        Uses{"o graph", "o squash.out", "r inner.out", "r positions"});
  CHECK(uses_of(graph.blocks[2], Op::backward) ==
        Uses{"o d_inner.out", "r d_squash.out", "r graph", "r inner.out"});
  CHECK(uses_of(graph.blocks[3], Op::loss) == Uses{"a d_head", "a loss_sum", "a target_count",
                                                   "o d_squash.out", "r head", "r positions",
                                                   "r squash.out", "r targets"});
  CHECK(uses_of(graph.blocks[3], Op::evaluate) ==
        Uses{"a loss_sum", "a target_count", "r head", "r squash.out", "r targets"});
  CHECK_FALSE(graph.blocks[3].phases.contains(Op::predict));
}

TEST_CASE("lengths of rows come with the batch if a module reads them") {
  CustomDims dims = described();
  const auto forward_of = [&](std::size_t block) {
    return uses_of(custom_graph(dims, 2, 4, DType::f32).blocks[block], Op::forward);
  };
  CHECK(std::ranges::count(forward_of(1), "r lengths") == 0);
  for (CustomShape& shape : dims.shapes) shape.modules[1].inputs.push_back("lengths");
  CHECK(std::ranges::count(forward_of(0), "r lengths") == 0);
  CHECK(std::ranges::count(forward_of(1), "r lengths") == 1);
}

TEST_CASE("what autograd keeps of a module is saved where the library has it") {
  const program::ModelGraph graph = custom_graph(described(), 2, 4, DType::f32);
  for (const int k : {0, 1, 2}) {
    const auto& slots = graph.blocks[static_cast<std::size_t>(k)].slots;
    const auto kept = std::ranges::find(slots, Role::saved, &program::SlotSpec::role);
    REQUIRE(kept != slots.end());
    CHECK(kept->space == program::Space::library);
    CHECK(kept->tensor.bytes() == (k == 1 ? 1 : 100));
    CHECK(std::ranges::count(slots, program::Space::library, &program::SlotSpec::space) == 1);
  }
}

TEST_CASE("parameters are as constructed, decayed ones first") {
  const program::ModelGraph graph = custom_graph(described(), 2, 4, DType::f32);
  const auto& inner = graph.groups[1].parameters;
  Names names;
  for (const auto& p : inner) {
    names.push_back(p.name);
    CHECK(p.initializer == program::Initializer::constructed);
    CHECK(p.decay == (p.dims.size() >= 2));
  }
  CHECK(names == Names{"inner.weight", "inner.bias", "inner.gain"});
  CHECK(graph.groups[1].elements == 3 * program::group_alignment);
}

TEST_CASE("evaluation of a classifier counts what labels are taken for") {
  const program::ModelGraph graph = custom_graph(described(true), 2, 4, DType::f32);
  CHECK(uses_of(graph.blocks[3], Op::evaluate) ==
        Names{"a confusion", "a loss_sum", "a target_count", "r head", "r labels", "r squash.out"});
  CHECK(graph.scalars.back().dims == std::vector<std::int64_t>{3, 3});
}

TEST_CASE("a micro-batch between two described ones takes bytes between theirs") {
  const program::ModelGraph graph = custom_graph(described(), 3, 4, DType::f32);
  CHECK(graph.library_bytes == 1101);  // 1000 + 401 / 4, rounded up
  const auto& slots = graph.blocks[0].slots;
  CHECK(std::ranges::find(slots, Role::saved, &program::SlotSpec::role)->tensor.bytes() == 126);
  CHECK(graph.values[0].dims == std::vector<std::int64_t>{3, 4, 6});
  CHECK_THROWS_AS(custom_graph(described(), 7, 4, DType::f32), InternalError);
  CHECK_THROWS_AS(custom_graph(described(), 3, 5, DType::f32), InternalError);
}

namespace {

/// Two towers with one weight, whose values meet; `features` has two readers.
CustomDims towers() {
  CustomDims dims{.options = {.name = "towers"}};
  CustomShape shape{.micro_batch_size = 2, .length = 1, .library_bytes = 10};
  shape.fields = {{"left", DType::f32, {3}}, {"right", DType::i64, {}}};
  shape.own_loss = true;
  shape.metrics = {"hits", "margin"};
  const CustomParameter tied{"first.weight", {3, 3}}, own{"first.bias", {3}};
  shape.modules = {{"first", {tied, own}, {"left"}, {{"features", {2, 3}}}, 8},
                   {"second", {tied}, {"features"}, {{"a", {2, 3}}, {"b", {2}}}, 8},
                   {"loss", {}, {"features", "a", "b", "right"}, {}, 0}};
  dims.shapes = {shape};
  return dims;
}

}  // namespace

TEST_CASE("a graph's values have several readers, its fields are batch tensors, weights are tied") {
  const program::ModelGraph graph = custom_graph(towers(), 2, 1, DType::f32);
  Names batch, groups;
  for (const auto& t : graph.batch) batch.push_back(t.name);
  for (const auto& g : graph.groups) groups.push_back(g.name);
  CHECK(batch == Names{"positions", "left", "right"});
  CHECK(graph.batch[1].dims == std::vector<std::int64_t>{2, 3});
  CHECK(graph.batch[2].dtype == DType::i64);
  CHECK(groups == Names{"first.weight", "first"});
  REQUIRE(graph.groups[0].parameters.size() == 1);
  CHECK(uses_of(graph.blocks[1], Op::forward) ==
        Names{"o a", "o b", "o graph", "r features", "r first.weight", "r positions"});
  // the loss brings its gradient of the features first, the second module adds to it
  CHECK(uses_of(graph.blocks[1], Op::backward) == Names{"a d_features", "a d_first.weight", "r d_a",
                                                        "r d_b", "r features", "r first.weight",
                                                        "r graph"});
  CHECK(uses_of(graph.blocks[2], Op::loss) == Names{"a loss_sum", "a own_metrics", "a target_count",
                                                    "o d_a", "o d_b", "o d_features", "r a", "r b",
                                                    "r features", "r positions", "r right"});
  CHECK(uses_of(graph.blocks[2], Op::evaluate) == Names{"a loss_sum", "a own_metrics",
                                                        "a target_count", "r a", "r b",
                                                        "r features", "r positions", "r right"});
  CHECK(graph.scalars.back().dims == std::vector<std::int64_t>{2, 2});
}

TEST_CASE("a parameter of four dimensions is saved whole") {
  program::ParameterSpec p{.name = "conv", .dims = {2, 3, 2, 2}, .saved_dims = {2, 3, 2, 2}};
  std::vector<float> inside(24), saved(24), back(24);
  for (std::size_t i = 0; i < inside.size(); ++i) inside[i] = static_cast<float>(i + 1);
  pack_saved(p, inside.data(), saved, saved_rows(p));
  CHECK(saved == inside);
  unpack_saved(p, saved, back.data(), saved_rows(p));
  CHECK(back == inside);
}

TEST_CASE("a shape is read as it was written") {
  CustomShape shape = shape_of(2, 100, 1000);
  shape.compute = DType::f16;
  shape.on_gpu = true;
  shape.not_captured = "module 'inner' calls aten::nonzero";
  shape.modules[1].draws = false;
  shape.modules[1].changing = {"mean"};
  const CustomShape read = custom_shape_from_json(to_json(shape));
  CHECK(to_json(read) == to_json(shape));
  CHECK(read.compute == DType::f16);
  CHECK(read.on_gpu);
  CHECK(read.not_captured == shape.not_captured);
  CHECK(read.modules[0].draws);
  CHECK_FALSE(read.modules[1].draws);
  nlohmann::json other = to_json(shape);
  other["compute"] = "f64";
  CHECK_THROWS_AS(custom_shape_from_json(other), InternalError);
}

TEST_CASE("a graph for a GPU needs what was measured there, and has memory for trainx's kernels") {
  CustomDims dims = described();
  CHECK_THROWS_AS(custom_graph(dims, 2, 4, DType::f32, GraphOptions::on_gpu()), InternalError);
  for (CustomShape& s : dims.shapes) s.on_gpu = true;
  CHECK_THROWS_AS(custom_graph(dims, 2, 4, DType::f32), InternalError);
  const auto graph = custom_graph(dims, 2, 4, DType::f32, GraphOptions::on_gpu());
  CHECK(graph.library_bytes == 1000 + module_workspace_bytes);
  CHECK(dims.on_gpu());
  CHECK(dims.not_captured().empty());
  dims.shapes[1].not_captured = "module 'inner' draws";
  CHECK(dims.not_captured() == "module 'inner' draws");
}

TEST_CASE("losses in fp16, and those that a replica is sent, are scaled") {
  CustomDims dims = described();
  const auto is_scaled = [&](DType compute, const GraphOptions& graph_options) {
    for (CustomShape& s : dims.shapes) s.compute = compute;
    const auto graph = custom_graph(dims, 2, 4, compute, graph_options);
    const bool has = std::ranges::any_of(graph.scalars,
                                         [](const auto& s) { return s.role == Role::loss_scale; });
    const Names uses = uses_of(graph.blocks.back(), Op::loss);
    CHECK(has == (std::ranges::find(uses, "r loss_scale") != uses.end()));
    return has;
  };
  GraphOptions replica;
  replica.seeded = true;
  CHECK(is_scaled(DType::f16, {}));
  CHECK(is_scaled(DType::f32, replica));
  CHECK_FALSE(is_scaled(DType::f32, {}));
  CHECK_FALSE(is_scaled(DType::bf16, {}));
}

}  // namespace custom_test
