#include "core/error.hpp"
#include "model/model.hpp"
#include "architectures/bert.hpp"
#include "architectures/gpt2.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <cmath>
#include <map>
#include "support/catch.hpp"

namespace initialize_test {

using namespace trainx;

namespace {

const architectures::Gpt2Dims dims{.num_layers = 3,
                                   .num_heads = 2,
                                   .hidden_size = 64,
                                   .intermediate_size = 256,
                                   .max_positions = 100,
                                   .vocab_size = 301};

std::map<std::string, std::vector<float>> initialized(const std::vector<program::GroupSpec>& groups,
                                                      std::uint64_t seed) {
  std::map<std::string, std::vector<float>> found;
  for (const auto& g : groups) {
    std::vector<float> memory(g.elements, std::nanf(""));
    model::initialize_parameters(g, seed, memory.data());
    for (float x : memory) REQUIRE(std::isfinite(x));  // gaps too
    for (const auto& p : g.parameters)
      found[p.name].assign(memory.begin() + p.offset, memory.begin() + p.offset + p.elements());
  }
  return found;
}

std::map<std::string, std::vector<float>> initialized(const architectures::Gpt2Dims& d,
                                                      std::uint64_t seed) {
  return initialized(architectures::graph_of(d, 1, 1, DType::f32).groups, seed);
}

double deviation(const std::vector<float>& x, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace

TEST_CASE("initial weights are GPT-2's") {
  const auto w = initialized(dims, 7);
  CHECK(std::abs(deviation(w.at("wte.weight"), 301 * 64) / 0.02 - 1) < 0.03);
  // padded rows
  for (std::size_t i = 301 * 64; i < w.at("wte.weight").size(); ++i)
    CHECK(w.at("wte.weight")[i] == 0);
  CHECK(std::abs(deviation(w.at("wpe.weight"), 6400) / 0.02 - 1) < 0.05);
  CHECK(std::abs(deviation(w.at("h.1.mlp.c_fc.weight"), 256 * 64) / 0.02 - 1) < 0.03);
  CHECK(std::abs(deviation(w.at("h.1.mlp.c_proj.weight"), 256 * 64) / (0.02 / std::sqrt(6.0)) - 1) <
        0.03);
  CHECK(std::abs(deviation(w.at("h.2.attn.c_proj.weight"), 64 * 64) / (0.02 / std::sqrt(6.0)) - 1) <
        0.06);
  for (float x : w.at("h.0.ln_1.weight")) CHECK(x == 1);
  for (float x : w.at("h.0.attn.c_attn.bias")) CHECK(x == 0);
  double sum = 0;
  for (float x : w.at("h.1.mlp.c_fc.weight")) sum += x;
  CHECK(std::abs(sum) < 4 * 0.02 * std::sqrt(256.0 * 64));
}

TEST_CASE("initial weights are BERT's: the padding token's row is zero") {
  const architectures::BertDims bert{.num_layers = 2,
                                     .num_heads = 2,
                                     .hidden_size = 64,
                                     .intermediate_size = 256,
                                     .vocab_size = 301,
                                     .pad_token = 3};
  const auto w = initialized(architectures::graph_of(bert, 1, 1, DType::f32).groups, 7);
  const auto& word = w.at("bert.embeddings.word_embeddings.weight");
  CHECK(std::abs(deviation(word, 301 * 64) / (0.02 * std::sqrt(300.0 / 301)) - 1) < 0.03);
  for (std::size_t i = 0; i < word.size(); ++i)
    CHECK((word[i] == 0) == (i / 64 == 3 || i >= 301 * 64));
  // not scaled with the depth
  CHECK(std::abs(deviation(w.at("bert.encoder.layer.1.output.dense.weight"), 256 * 64) / 0.02 - 1) <
        0.03);
  for (float x : w.at("cls.predictions.transform.LayerNorm.weight")) CHECK(x == 1);
  for (float x : w.at("cls.predictions.bias")) CHECK(x == 0);
}

TEST_CASE("an initial weight depends on the seed and its name alone") {
  const auto w = initialized(dims, 7);
  at::set_num_threads(1);
  CHECK(initialized(dims, 7) == w);
  architectures::Gpt2Dims deeper = dims;
  deeper.num_layers = 5;
  const auto other = initialized(deeper, 7);
  CHECK(other.at("h.1.mlp.c_fc.weight") == w.at("h.1.mlp.c_fc.weight"));
  CHECK(other.at("wte.weight") == w.at("wte.weight"));
  CHECK(initialized(dims, 8).at("wpe.weight") != w.at("wpe.weight"));
  CHECK(w.at("h.0.mlp.c_fc.weight") != w.at("h.1.mlp.c_fc.weight"));
}

TEST_CASE("a context refuses slots that its instruction does not use") {
  const auto graph = architectures::graph_of(dims, 2, 5, DType::f32);
  const auto& block = graph.blocks[2];
  std::vector<Tensor> operands(block.slots.size());
  std::vector<program::How> how(block.slots.size(), program::How::read);
  const at::Tensor parameters = at::empty({graph.groups[3].elements});
  const auto slot_of = [&](program::Role role, const std::string& name) {
    for (std::size_t s = 0; s < block.slots.size(); ++s)
      if (block.slots[s].role == role && block.slots[s].name == name)
        return static_cast<program::Slot>(s);
    FAIL("no slot " << name);
    return program::none;
  };
  const program::Slot weights = slot_of(program::Role::parameter, "h0.mlp"),
                      normed = slot_of(program::Role::saved, "normed");
  operands[static_cast<std::size_t>(weights)] = parameters;
  how[static_cast<std::size_t>(weights)] = program::How::accumulate;
  const model::BlockContext c(graph, block, operands, how, model::Mode::train, 9, 1.0);
  CHECK(c.has(weights));
  CHECK(c.accumulates(weights));
  CHECK_FALSE(c.has(normed));
  CHECK_FALSE(c.writes(normed));
  CHECK_THROWS_AS(c[normed], InternalError);
  CHECK(c.tensor(weights, 0).dims == Dims{256, 64});  // h.0.mlp.c_fc.weight
  CHECK(c.random_key(0).block == 2);
  CHECK(c.random_key(0).seed == 9);
  CHECK_THROWS_AS(model::BlockContext(graph, block, {}, {}, model::Mode::train, 9, 1.0),
                  InternalError);
}

}  // namespace initialize_test
