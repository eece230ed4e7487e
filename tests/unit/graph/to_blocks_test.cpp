// Blocks that follow from operations.
#include "graph/lowered_block.hpp"
#include "graph/repetition.hpp"
#include "graph/to_blocks.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "architectures/bert.hpp"
#include "architectures/gpt2.hpp"
#include "support/catch.hpp"

namespace to_blocks_test {

using namespace trainx;

namespace {

std::string print(const program::BlockSpec& b) {
  std::string out = b.name + "\n";
  for (const auto& s : b.slots) {
    out += std::string(name_of(s.role)) + " " + s.name + " " + std::to_string(s.index) + " " +
           std::to_string(s.tensor.bytes()) + (s.cheap ? " cheap" : "") +
           (s.cached ? " cached" : "");
    for (const auto f : s.from) out += " " + std::to_string(f);
    out += "\n";
  }
  for (const auto& [op, phase] : b.phases) {
    out += std::string(program::name_of(op));
    for (const auto& u : phase.uses)
      out += " " + std::to_string(u.slot) + ":" + std::to_string(static_cast<int>(u.how));
    for (const auto& g : phase.gemms)
      out += " " + std::to_string(g.m) + "x" + std::to_string(g.n) + "x" + std::to_string(g.k) +
             "*" + std::to_string(g.count) + ">" + std::to_string(g.output);
    out += " " + std::to_string(phase.other_kernels) + " " + std::to_string(phase.attention_flops) +
           "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("a layer that repeats another has the block that would be derived for it") {
  const bool dropout = GENERATE(false, true), low = GENERATE(false, true);
  const int which = GENERATE(0, 1, 2);
  const auto graph_of = [&](int layers) {
    const DType compute = low ? DType::bf16 : DType::f32;
    if (which == 0)
      return architectures::graph_of(architectures::Gpt2Dims{.num_layers = layers,
                                                             .num_heads = 2,
                                                             .hidden_size = 8,
                                                             .intermediate_size = 16,
                                                             .max_positions = 8,
                                                             .vocab_size = 9,
                                                             .dropout = dropout ? 0.1 : 0},
                                     2, 4, compute, architectures::GraphOptions::on_cpu(1));
    architectures::BertDims d{.num_layers = layers,
                              .num_heads = 2,
                              .hidden_size = 8,
                              .intermediate_size = 16,
                              .max_positions = 8,
                              .vocab_size = 9,
                              .dropout = dropout ? 0.1 : 0};
    if (which == 2) d.task = architectures::Task::classification, d.num_labels = 3;
    return architectures::graph_of(d, 2, 4, compute, architectures::GraphOptions::on_cpu(1));
  };
  const program::ModelGraph deep = graph_of(4), shallow = graph_of(2);
  // layers 1, 2 and 3 share what executors walk, part by part
  const auto& walked = deep.composition->blocks;
  for (const std::size_t b : {5, 6, 7, 8}) CHECK(walked.at(b) == walked.at(b - 2));
  CHECK(walked.at(1) != walked.at(2));
  // The last layer's blocks as derived in a model of two layers: all but the numbers of values.
  const auto unnumbered = [](program::BlockSpec b) {
    for (auto& s : b.slots)
      if (program::is_of_group(s.role) || s.role == program::Role::value ||
          s.role == program::Role::value_gradient)
        s.index = 0, s.name = s.tensor.name = "";
    b.name = "";
    return print(b);
  };
  for (const std::size_t part : {1, 2})
    CHECK(unnumbered(deep.blocks[6 + part]) == unnumbered(shallow.blocks[2 + part]));
  for (std::size_t b = 0; b < deep.blocks.size(); ++b)
    for (const auto& s : deep.blocks[b].slots) {
      INFO(deep.blocks[b].name << " " << s.name);
      const std::string d =
          s.role == program::Role::gradient || s.role == program::Role::value_gradient ? "d_" : "";
      if (program::is_of_group(s.role))
        CHECK(s.name == d + deep.groups.at(static_cast<std::size_t>(s.index)).name);
      if (s.role == program::Role::value || s.role == program::Role::value_gradient)
        CHECK(s.name == d + deep.values.at(static_cast<std::size_t>(s.index)).name);
    }
}

}  // namespace to_blocks_test
