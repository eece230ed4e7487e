// precision.fallback: which products fall back, by what steps counted, and that casts in spite of
// it are found.
#include "train/fp8_fallback.hpp"
#include "architectures/gpt2.hpp"
#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "support/catch.hpp"
#include <set>

namespace fp8_fallback_test {

using namespace trainx;

namespace {

constexpr std::int64_t blocks = 6, most = 2;  // embedding, two layers of two blocks, head

program::ModelGraph graph_of(std::set<std::string> left_out = {}) {
  architectures::GraphOptions m = architectures::GraphOptions::on_cpu(1);
  m.passes.fp8.layers = graph::Fp8Layers::all;
  m.passes.fp8.scaling = operations::Fp8Scaling::delayed;
  m.passes.fp8.left_out = std::move(left_out);
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 8,
                                                         .intermediate_size = 16,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 2, 4, DType::bf16, m);
}

enum Class : std::int64_t { inputs, weights, gradients };

/// Counts of a step in which every tensor has 100 elements.
struct Counts {
  static constexpr std::size_t row = kernels::fp8_counts + kernels::fp8_exponents;
  std::vector<double> all = std::vector<double>(3 * blocks * most * row);
  Counts() {
    for (std::size_t t = 0; t < all.size(); t += row) all[t + kernels::fp8_elements] = 100;
  }
  double& of(Class c, std::int64_t block, std::int64_t number, kernels::Fp8Count what) {
    return all[static_cast<std::size_t>((c * blocks + block) * most + number) * row +
               static_cast<std::size_t>(what)];
  }
};

const std::string qkv = "h.0.attn.c_attn.weight", down = "h.1.mlp.c_proj.weight";

}  // namespace

TEST_CASE("a product falls back if a tensor of it is cut beyond the limit, on the mean of steps") {
  const train::Fp8Products products(graph_of());
  CHECK(products.size() == 8);
  train::TrainState state;
  Counts step;
  products.add(state, step.all);
  CHECK(state.fp8_saturation.empty());
  step.of(weights, 1, 0, kernels::fp8_saturated) = 3;
  step.of(gradients, 4, 1, kernels::fp8_saturated) = 5;
  products.add(state, step.all);
  products.add(state, step.all);
  CHECK(state.fp8_saturation.size() == 2);
  const auto names = [&](double limit, std::int64_t window) {
    std::vector<std::string> out;
    for (const auto& p : products.above(limit, window, state))
      out.push_back(p.weight + " " + p.tensor);
    return out;
  };
  // means over ten steps: 0.006 and 0.01
  CHECK(names(0.005, 10) == std::vector<std::string>{qkv + " weight", down + " output gradient"});
  CHECK(names(0.008, 10) == std::vector<std::string>{down + " output gradient"});
  CHECK(names(0.01, 10).empty());
  CHECK(names(0.005, 20) == std::vector<std::string>{});
  // an input belongs to all that read it; the tensor of the largest share is told
  step.of(inputs, 4, 1, kernels::fp8_saturated) = 50;
  products.add(state, step.all);
  CHECK(names(0.01, 10) == std::vector<std::string>{down + " input"});
}

TEST_CASE("the sentence names the tensor, the limit and the step") {
  const std::string said = train::fallback_sentence({{qkv, "weight", 0.02}, {down, "input", 0.25}},
                                                    200, 0.001, 100, "bf16");
  const std::vector<std::string> parts{"step 200: 25 %", "the input of " + down,
                                       "100 steps",      "precision.fallback (0.1 %)",
                                       "1 other matri",  "bf16",
                                       "step 201 on"};
  for (const std::string& part : parts) CHECK(said.find(part) != std::string::npos);
}

TEST_CASE("a cast of a product that has fallen back is found") {
  const train::Fp8Products as_before(graph_of()), planned(graph_of({qkv}));
  for (const train::Fp8Products* products : {&as_before, &planned}) {
    Counts step;
    CHECK(products->cast_in_spite({}, step.all).empty());
    CHECK(products->cast_in_spite({qkv}, step.all) == qkv);
    step.of(weights, 1, 0, kernels::fp8_elements) = 0;
    CHECK(products->cast_in_spite({qkv}, step.all) == qkv);  // its output gradient is
    step.of(gradients, 1, 0, kernels::fp8_elements) = 0;
    CHECK(products->cast_in_spite({qkv}, step.all).empty());
    CHECK(products->cast_in_spite({down, qkv}, step.all) == down);
    CHECK(products->cast_in_spite({qkv}, {}).empty());
  }
  // it does not fall back again
  train::TrainState state;
  Counts step;
  step.of(inputs, 1, 0, kernels::fp8_saturated) = 90;
  planned.add(state, step.all);
  CHECK(planned.above(0.001, 1, state).empty());
  CHECK(as_before.above(0.001, 1, state).size() == 1);
}

TEST_CASE("counts of another model are refused") {
  train::TrainState state;
  CHECK_THROWS_AS(train::Fp8Products(graph_of()).add(state, std::vector<double>(7)), InternalError);
}

}  // namespace fp8_fallback_test
