// Graphs of a user's chain of modules.
#include "architectures/custom.hpp"
#include "core/error.hpp"
#include <algorithm>
#include "support/catch.hpp"

using namespace trainx;
using namespace trainx::architectures;
using program::How;
using program::Op;
using program::Role;

namespace {

CustomShape shape_of(std::int64_t B, program::Bytes graph_bytes, program::Bytes library_bytes) {
  CustomShape shape{.micro_batch_size = B, .length = 4, .library_bytes = library_bytes};
  shape.modules = {{"embedding", {{"weight", {11, 6}}}, {B, 4, 6}, graph_bytes},
                   {"inner", {{"bias", {6}}, {"weight", {6, 6}}, {"gain", {6}}}, {B, 4, 6}, 0},
                   {"squash", {}, {B, 4, 6}, graph_bytes},
                   {"head", {{"weight", {11, 6}}}, {B, 4, 11}, 0}};
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
