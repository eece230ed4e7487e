// Mixtures of experts as blocks: sound programs, layers that are alike, sizes that do not depend on
// the routing.
#include "architectures/active_parameters.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <set>

namespace mixture_test {

using namespace trainx;

namespace {

constexpr std::int64_t batch = 2, length = 4, hidden = 8, width = 6, experts = 4, chosen = 2;

std::string config(const std::string& family, int layers) {
  std::string text = R"({"model_type": ")" + family + R"(", "num_hidden_layers": )" +
                     std::to_string(layers) + R"(, "hidden_size": 8, "intermediate_size": 6,
      "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 9,
      "max_position_embeddings": 8, "num_experts_per_tok": 2,
      "output_router_logits": true, "router_aux_loss_coef": 0.1, )";
  if (family == "mixtral") return text + R"("num_local_experts": 4})";
  if (family == "granitemoe") return text + R"("num_local_experts": 4})";
  if (family == "gpt_oss")
    return text + R"("num_local_experts": 4, "head_dim": 4,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}})";
  if (family == "qwen2_moe")
    return text + R"("num_experts": 4, "moe_intermediate_size": 6,
                     "shared_expert_intermediate_size": 5})";
  return text + R"("n_routed_experts": 4, "moe_intermediate_size": 6, "n_shared_experts": 1,
                   "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1})";
}

program::ModelGraph graph_of(const std::string& family, int layers, DType compute,
                             const std::vector<graph::ParameterRule>& rules = {}) {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.rules = rules;
  return architectures::model_graph(
      architectures::dims_from_config(config(family, layers), "config.json"), batch, length,
      compute, graph_options);
}

std::string problem_of(const program::ModelGraph& graph) {
  const program::UpdateSpec update{{{"m"}}, program::Master::fp32};
  const program::StepProgram p = program::plain_program(graph, update);
  const program::Reference reference{&graph, update};
  return program::check_program(p, program::plan_memory(p), &reference);
}

const program::BlockSpec& block(const program::ModelGraph& graph, const std::string& name) {
  for (const program::BlockSpec& b : graph.blocks)
    if (b.name == name) return b;
  throw InternalError("no block " + name);
}

double flops(const program::ModelGraph& graph) {
  double sum = 0;
  for (const program::BlockSpec& b : graph.blocks)
    if (const auto forward = b.phases.find(program::Op::forward); forward != b.phases.end())
      sum += forward->second.gemm_flops();
  return sum;
}

}  // namespace

TEST_CASE("programs of mixtures are sound, whichever parameter is trained alone or frozen") {
  const std::string family = GENERATE("mixtral", "granitemoe", "qwen2_moe", "dots1", "gpt_oss");
  const DType compute = GENERATE(DType::f32, DType::bf16);
  const program::ModelGraph whole = graph_of(family, 2, compute);
  CHECK(problem_of(whole) == "");
  std::set<std::string> names;
  for (const auto& g : whole.groups)
    for (const auto& p : g.parameters) names.insert(p.name);
  for (const std::string& name : names)
    for (const bool alone : {false, true}) {
      // experts of a layer are trained alike
      if (name.find("experts.") != std::string::npos) continue;
      CAPTURE(family, name, alone);
      std::vector<graph::ParameterRule> rules{{.pattern = name, .trained = alone}};
      if (alone) rules.insert(rules.begin(), {.pattern = "*", .trained = false});
      if (alone && name.ends_with("e_score_correction_bias")) continue;  // none is trained
      program::ModelGraph graph;
      try {
        graph = graph_of(family, 2, compute, rules);
      } catch (const UserError& e) {  // one product's
        CHECK(e.code() == ExitCode::invalid_recipe);
        continue;
      }
      CHECK(problem_of(graph) == "");
    }
  for (const bool alone : {false, true}) {
    std::vector<graph::ParameterRule> rules{{.pattern = "*experts.*", .trained = alone}};
    if (alone) rules.insert(rules.begin(), {.pattern = "*", .trained = false});
    CAPTURE(family, alone);
    if (family != "granitemoe") CHECK(problem_of(graph_of(family, 2, compute, rules)) == "");
  }
}

TEST_CASE("biases of experts do not compute every token either") {
  const program::ModelGraph g = graph_of("gpt_oss", 1, DType::f32);
  CHECK(architectures::idle_parameters(g) ==
        (3 * hidden * width + 2 * width + hidden) * (experts - chosen));
}

TEST_CASE("experts that are computed as one are trained alike") {
  CHECK_THROWS_AS(
      graph_of("mixtral", 1, DType::f32, {{.pattern = "*experts.1.w1*", .trained = false}}),
      UserError);
}

TEST_CASE("experts have no products in fp8, and whoever asks for them is told") {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.fp8.layers = graph::Fp8Layers::all;
  const auto dims = architectures::dims_from_config(config("mixtral", 1), "config.json");
  CHECK_THROWS_AS(architectures::model_graph(dims, batch, length, DType::bf16, graph_options),
                  UserError);
}

TEST_CASE("a router's correction is a constant, whatever is asked for") {
  const program::ModelGraph g =
      graph_of("dots1", 2, DType::f32, {{.pattern = "*", .trained = true, .lr_scale = 2.0}});
  for (const auto& group : g.groups)
    for (const auto& p : group.parameters)
      CHECK(group.training.trained != p.name.ends_with("e_score_correction_bias"));
}

TEST_CASE("layers with experts that are alike share what executors walk") {
  const program::ModelGraph g = graph_of("dots1", 4, DType::f32);
  const auto& walked = g.composition->blocks;  // the first layer is dense
  CHECK(walked.at(4) != walked.at(2));
  CHECK(walked.at(6) == walked.at(4));
  CHECK(walked.at(8) == walked.at(4));
}

TEST_CASE("buffers hold the rows that experts compute, however they are spread") {
  const program::ModelGraph g = graph_of("mixtral", 1, DType::f32);
  const auto rows_of = [&](const std::string& name) {
    for (const auto& s : block(g, "h0.mlp").slots)
      if (s.name == name) return s.tensor.dims;
    throw InternalError("no slot " + name);
  };
  constexpr std::int64_t rows = batch * length * chosen;
  CHECK(rows_of("expert_rows") == std::vector<std::int64_t>{rows, hidden});
  CHECK(rows_of("expert_features") == std::vector<std::int64_t>{rows, 2 * width});
  CHECK(rows_of("activated") == std::vector<std::int64_t>{rows, width});
  CHECK(rows_of("router_indices") == std::vector<std::int64_t>{batch * length, chosen});
  CHECK(rows_of("expert_offsets") == std::vector<std::int64_t>{experts + 1});
}

TEST_CASE("products and parameters of a token are those of its experts") {
  const program::ModelGraph g = graph_of("mixtral", 2, DType::f32);
  constexpr double of_experts = 2 * 3 * hidden * width;  // two layers, an expert each
  CHECK(architectures::idle_parameters(g) == of_experts * (experts - chosen));
  const double dense = flops(graph_of("mixtral", 2, DType::f32)) -
                       2 * batch * length * of_experts * chosen;
  // attention's products and the router's are left
  CHECK(dense == 2.0 * 2 * batch * length * (4 * hidden * hidden + hidden * experts));
  CHECK(architectures::idle_parameters(graph_of("dots1", 1, DType::f32)) == 0);
}

TEST_CASE("on a GPU the rows of all experts are one product, of as many FLOPs") {
  for (const DType compute : {DType::f32, DType::bf16, DType::f16}) {
    const program::ModelGraph gpu = architectures::model_graph(
        architectures::dims_from_config(config("mixtral", 1), "config.json"), batch, length,
        compute, architectures::GraphOptions::on_gpu());
    CHECK(gpu.without_gpu_kernel.empty());
    CHECK(problem_of(gpu).empty());
    CHECK(flops(gpu) == flops(graph_of("mixtral", 1, compute)));
    const program::BlockSpec& mlp = block(gpu, "h0.mlp");
    const auto launches = [&](program::Op op) {
      std::int64_t count = 0;
      for (const program::Gemm& g : mlp.phases.at(op).gemms) count += g.count;
      return count;
    };
    CHECK(launches(program::Op::forward) == 3);  // the router, up, down
    CHECK(launches(program::Op::backward) == 6);
    // of 16 bits, gradients of logits are in three parts
    bool has_parts = false;
    for (const auto& s : mlp.slots) {
      if (s.name == "d_router_logits") CHECK(compute == DType::f32);
      if (s.name != "d_router_parts") continue;
      has_parts = true;
      CHECK(s.tensor.dims == std::vector<std::int64_t>{batch * length, 3 * experts});
      CHECK(s.tensor.dtype == compute);
    }
    CHECK(has_parts == (compute != DType::f32));
  }
}

TEST_CASE("routers that a warp does not hold have no kernel on GPUs") {
  const operations::Types gpu{.gpu = true};
  CHECK(operations::Router{.experts = 512, .per_token = 32}.has_gpu_kernel(gpu));
  CHECK_FALSE(operations::Router{.experts = 513, .per_token = 2}.has_gpu_kernel(gpu));
  CHECK_FALSE(operations::Router{.experts = 64, .per_token = 33}.has_gpu_kernel(gpu));
  CHECK_FALSE(operations::Router{.experts = 66, .per_token = 2, .groups = 33}.has_gpu_kernel(gpu));
}

TEST_CASE("loads of experts are counted for each layer, in training alone") {
  const program::ModelGraph g = graph_of("mixtral", 3, DType::f32);
  const auto loads =
      std::ranges::find(g.scalars, program::expert_loads, &program::ScalarSpec::name);
  REQUIRE(loads != g.scalars.end());
  CHECK(loads->dims == std::vector<std::int64_t>{3, experts + 1});
  const program::BlockSpec& head = block(g, "head");
  const auto uses = [&](program::Op op) {
    return std::ranges::any_of(head.phases.at(op).uses, [&](const program::SlotUse& u) {
      return head.slots[static_cast<std::size_t>(u.slot)].name == program::expert_loads;
    });
  };
  CHECK(uses(program::Op::loss));
  CHECK(!uses(program::Op::evaluate));
  CHECK(std::ranges::none_of(graph_of("dots1", 1, DType::f32).scalars,
                             [](const auto& s) { return s.name == program::expert_loads; }));
}

namespace {

program::ModelGraph with_router_options(const std::string& family, double z_loss, double rate) {
  architectures::ModelDims dims = architectures::dims_from_config(config(family, 3), "config.json");
  auto& of_experts = std::get<architectures::DecoderDims>(dims).experts;
  of_experts.z_loss = z_loss;
  of_experts.balance_rate = rate;
  return architectures::model_graph(dims, batch, length, DType::f32,
                                    architectures::GraphOptions::on_cpu(1));
}

}  // namespace

TEST_CASE("programs with a loss of routers' log sums are sound") {
  CHECK(problem_of(with_router_options("mixtral", 0.1, 0)) == "");
  CHECK(problem_of(with_router_options("granitemoe", 0.1, 0)) == "");
}

TEST_CASE("biases of routers are moved once a step, however ranks share the model") {
  const program::ModelGraph g = with_router_options("dots1", 0, 0.001);
  const program::UpdateSpec update{{{"m"}}, program::Master::fp32};
  const program::StepProgram plain = program::plain_program(g, update);
  const auto balances = [](const program::StepProgram& p) {
    return std::ranges::count(p.steady, program::Op::balance, &program::Instruction::op);
  };
  CHECK(balances(plain) == 2);  // the first layer is dense
  CHECK(balances(program::plain_program(with_router_options("dots1", 0, 0), update)) == 0);
  const program::Reference one{&g, update};
  CHECK(program::check_program(plain, program::plan_memory(plain), &one) == "");
  // a program that leaves one of them out is not that training
  program::StepProgram without = plain;
  without.steady.erase(
      std::ranges::find(without.steady, program::Op::balance, &program::Instruction::op));
  CHECK(program::check_program(without, program::plan_memory(without), &one) != "");
}

namespace {

architectures::Gpt2Dims switch_dims(std::int64_t step, double capacity, std::int64_t per_token) {
  return {.num_layers = 4,
          .num_heads = 2,
          .hidden_size = hidden,
          .intermediate_size = width,
          .max_positions = 8,
          .vocab_size = 9,
          .num_experts = experts,
          .num_experts_per_tok = per_token,
          .decoder_sparse_step = step,
          .capacity_factor = capacity,
          .router_z_loss = 0.1};
}

program::ModelGraph switch_graph(const architectures::Gpt2Dims& dims, DType compute = DType::f32) {
  return architectures::model_graph(dims, batch, length, compute,
                                    architectures::GraphOptions::on_cpu(1));
}

}  // namespace

TEST_CASE("programs of GPT-2 with experts are sound") {
  const std::int64_t step = GENERATE(1, 2, 3);
  const double capacity = GENERATE(0.0, 0.5, 1.25);
  const std::int64_t per_token = GENERATE(1, 2);
  const DType compute = GENERATE(DType::f32, DType::bf16);
  CAPTURE(step, capacity, per_token);
  const program::ModelGraph g = switch_graph(switch_dims(step, capacity, per_token), compute);
  CHECK(problem_of(g) == "");
  const std::int64_t layers = 4 / step;
  CHECK(architectures::expert_parameters(g).layers == layers);
  CHECK(
      architectures::idle_parameters(g) ==
      static_cast<double>(layers * (2 * hidden * width + width + hidden) * (experts - per_token)));
}

TEST_CASE("an expert has room for the capacity of the micro-batch, and none that is not needed") {
  const auto rows_of = [&](double capacity) {
    const program::ModelGraph g = switch_graph(switch_dims(2, capacity, 1));
    for (const auto& s : block(g, "h1.mlp").slots)
      if (s.name == "expert_rows") return s.tensor.dims.front();
    throw InternalError("no rows");
  };
  constexpr std::int64_t tokens = batch * length;  // 8, 2 for each expert
  CHECK(rows_of(0) == tokens);
  CHECK(rows_of(1.25) == tokens);
  CHECK(rows_of(0.5) == tokens / 2);
  CHECK(rows_of(0.51) == tokens);  // two rows: capacities are rounded up
  CHECK(rows_of(1000) == tokens);
}

TEST_CASE("GPUs have kernels for GPT-2 with experts") {
  for (const double capacity : {0.0, 0.5, 1.25}) {
    const architectures::Gpt2Dims dims = switch_dims(2, capacity, 1);
    CHECK(architectures::without_gpu_kernel(dims) == "");
    CHECK(architectures::without_gpu_kernel(architectures::for_evaluation(dims)) == "");
  }
}

}  // namespace mixture_test
