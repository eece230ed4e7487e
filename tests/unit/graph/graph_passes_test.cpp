// What passes make of layers, as before and after pictures.
#include "core/error.hpp"
#include "core/hopper_kernels.hpp"
#include "graph/builder.hpp"
#include "graph/check_model.hpp"
#include "graph/passes/graph_pass.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/print_model.hpp"
#include "architectures/architecture.hpp"
#include "architectures/bert.hpp"
#include "architectures/gpt2.hpp"
#include "support/catch.hpp"
#include <map>
#include <optional>

namespace graph_passes_test {

using namespace trainx;
using namespace trainx::graph;

namespace {

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

architectures::ModelDims mixture(bool balanced = false) {
  const std::string form = R"({"model_type": "mixtral", "num_hidden_layers": 1,
      "hidden_size": 8, "intermediate_size": 6, "num_attention_heads": 2,
      "num_key_value_heads": 2, "vocab_size": 9, "max_position_embeddings": 8,
      "num_experts_per_tok": 2, "num_local_experts": 4)";
  return architectures::dims_from_config(
      form + (balanced ? R"(, "output_router_logits": true})" : "}"), "config.json");
}

Value mlp(ModelBuilder& m, Value x) {
  x = m.linear(x, "up", {.features = 8, .activation = operations::Activation::gelu_tanh});
  return m.linear(x, "down", {.features = C});
}

}  // namespace

TEST_CASE("ranks that share experts have three blocks for a mixture") {
  architectures::GraphOptions options = architectures::GraphOptions::on_cpu(1);
  options.passes.sharing = {.ranks = 2, .capacity = 1, .drops = true};
  std::string before, after;
  std::vector<Block> blocks;
  observe_graph_passes(mixture(), 2, 4, DType::f32, options,
                       [&](std::string_view pass, const Model& model) {
                         if (pass.empty()) before = print(model);
                         if (pass != "share_experts") return;
                         after = print(model);
                         blocks = model.blocks;
                       });
  const auto of_mlp = [](const std::string& text) {
    std::string lines;
    for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
      to = text.find('\n', from);
      const std::string line = text.substr(from, to - from);
      if (line.starts_with("h0.mlp")) lines += line.substr(0, line.find(" (")) + "\n";
    }
    return lines;
  };
  CHECK(of_mlp(before) ==
        "h0.mlp residual_norm residual1\n"
        "h0.mlp router normed\n"
        "h0.mlp dispatch normed router_indices\n"
        "h0.mlp grouped_linear expert_rows expert_offsets\n"
        "h0.mlp gated expert_features\n"
        "h0.mlp grouped_linear activated expert_offsets\n"
        "h0.mlp combine expert_features router_weights expert_places\n"
        "h0.mlp residual_norm residual1 branch1\n");
  CHECK(of_mlp(after) ==
        "h0.mlp residual_norm residual1\n"
        "h0.mlp router normed\n"
        "h0.mlp dispatch_to_ranks normed router_weights router_indices\n"
        "h0.mlp.experts dispatch expert_slots slot_owners\n"
        "h0.mlp.experts grouped_linear expert_rows expert_offsets\n"
        "h0.mlp.experts gated expert_features\n"
        "h0.mlp.experts grouped_linear activated expert_offsets\n"
        "h0.mlp.experts combine expert_features slot_weights expert_places\n"
        "h0.mlp.combine combine expert_results slot_places\n"
        "h0.mlp.combine residual_norm residual1 branch1\n");
  const auto named = [&](const std::string& name) {
    return *std::ranges::find(blocks, name, &Block::name);
  };
  const Block experts = named("h0.mlp.experts"), rest = named("h0.mlp.combine");
  CHECK((experts.parts.count == 2 && experts.continues && experts.closes));
  CHECK((rest.parts.count == 1 && rest.continues));
  CHECK(named("h0.mlp").closes);
  const Node& layer = experts.ops.at(1);
  CHECK(std::get<operations::GroupedLinear>(layer.operation).experts == 2);
  CHECK(layer.parameters.at(operations::GroupedLinear::weight).parts.count == 2);
  const Node& sent = named("h0.mlp").ops.back();
  // 8 tokens make 16 choices, 8 of each rank's experts if all are chosen as often
  CHECK(std::get<operations::DispatchToRanks>(sent.operation) ==
        operations::DispatchToRanks{.experts = 4, .ranks = 2, .capacity = 8, .drops = true});
}

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
  apply_graph_passes(model, {});
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
  apply_graph_passes(model, {});
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

TEST_CASE("each pass changes a model; the printed one says what is frozen") {
  std::map<std::string, int> changes;
  std::string before;
  const auto observe = [&](std::string_view after, const Model& model) {
    const std::string now = print(model);
    if (!after.empty() && now != before) ++changes[std::string(after)];
    before = now;
  };
  architectures::GraphOptions gpu = architectures::GraphOptions::on_gpu(false, 90),
                              cpu = architectures::GraphOptions::on_cpu(1);
  gpu.passes.fp8.layers = Fp8Layers::all;
  cpu.passes.rules = {{.pattern = "*mlp*", .trained = false}};
  const architectures::Gpt2Dims gpt2{
      .num_layers = 2, .num_heads = 2, .hidden_size = 128, .max_positions = 1024};
  architectures::BertDims bert{.num_layers = 2, .num_heads = 2, .hidden_size = 128};
  observe_graph_passes(gpt2, 1, 1024, DType::bf16, gpu, observe);
  observe_graph_passes(bert, 1, 64, DType::f32, cpu, observe);
  architectures::GraphOptions adapted = architectures::GraphOptions::on_cpu(1);
  adapted.passes.adapter.weights = {{"h.1.mlp.c_fc.weight", {"h.1.mlp.c_fc", 2, 1.0}}};
  adapted.passes.adapter.embeddings = {{"wte.weight", {"wte", 2, 1.0}}};
  observe_graph_passes(gpt2, 1, 64, DType::f32, adapted, observe);
  architectures::GraphOptions sharing = architectures::GraphOptions::on_cpu(1);
  sharing.passes.sharing.ranks = 2;
  observe_graph_passes(mixture(), 2, 4, DType::f32, sharing, observe);
  architectures::GraphOptions in_parts = architectures::GraphOptions::on_cpu(1);
  in_parts.passes.tensor_ranks = 2;
  in_parts.passes.fp8.layers = Fp8Layers::all;
  observe_graph_passes(gpt2, 1, 64, DType::f32, in_parts, observe);
  architectures::GraphOptions by_tokens = architectures::GraphOptions::on_cpu(1);
  by_tokens.passes.context_ranks = 2;
  observe_graph_passes(gpt2, 1, 64, DType::f32, by_tokens, observe);
  architectures::GraphOptions frozen = architectures::GraphOptions::on_gpu(false, 80);
  frozen.passes.rules = {{.pattern = "*", .trained = false}};
  observe_graph_passes(gpt2, 8, 1024, DType::bf16, frozen, observe);
  observe_graph_passes(gpt2, 1, 64, DType::f32, cpu, observe);
  CHECK(before.find("(frozen:h.0.mlp.c_fc.weight frozen:h.0.mlp.c_fc.bias)") != std::string::npos);
  CHECK(before.find("(h.0.attn.c_attn.weight") != std::string::npos);
  for (const GraphPass& pass : graph_passes()) {
    if (pass.name == "sum_attention_bias" && !has_hopper_kernels) continue;
    INFO(pass.name);
    CHECK(changes[std::string(pass.name)] > 0);
  }
}

TEST_CASE("an adapter stands behind its linear layer, and before an activation of that") {
  ModelBuilder m = builder();
  Value h =
      m.residual(0, "mlp", embedded(m), [&](Value x) { return mlp(m, m.layer_norm(x, "n")); });
  finish(m, [&] { return m.layer_norm(h, "last"); });
  Model model = m.finish();
  const AdapterOptions adapter{
      .weights = {{"up.weight", {"up", 2, 0.5}}, {"down.weight", {"down", 3, 4}}},
      .trained = {"last.weight"}};
  add_adapters(model, {.adapter = adapter});
  CHECK(print(model) ==
        "embedding embedding tokens (frozen:t frozen:p) > residual0\n"
        "h0.mlp residual_norm residual0 (frozen:n.weight frozen:n.bias) > mean rstd normed\n"
        "h0.mlp linear normed (frozen:up.weight frozen:up.bias) > activated_base\n"
        "h0.mlp low_rank normed activated_base (up.lora_A.weight up.lora_B.weight) > narrow "
        "preactivation\n"
        "h0.mlp activation preactivation () > activated\n"
        "h0.mlp linear activated (frozen:down.weight frozen:down.bias) > branch0_base\n"
        "h0.mlp low_rank activated branch0_base (down.lora_A.weight down.lora_B.weight) > narrow "
        "branch0\n"
        "h0.mlp residual_norm residual0 branch0 () > residual1\n"
        "head residual_norm residual1 (last.weight frozen:last.bias) > mean rstd normed\n"
        "head linear normed (frozen:t) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
  check_model(model, "add_adapters");
  const Node& up = model.blocks.at(1).ops.at(2);
  const auto& low_rank = std::get<operations::LowRank>(up.operation);
  CHECK(low_rank.parts == std::vector<operations::LowRankPart>{{0, 8, 2, 0.5}});
  const auto& a =
      model.parameters.at(static_cast<std::size_t>(up.parameters.at(operations::LowRank::a).index))
          .spec;
  CHECK(a.dims == std::vector<std::int64_t>{2, C});
  CHECK(a.bound == 0.5);  // of torch's nn.Linear: 1 / sqrt(4)
  // the second layer's product stays apart from the first one's activation
  Model whole = model;
  apply_graph_passes(whole, {});
  CHECK(whole.blocks.size() == model.blocks.size());
}

TEST_CASE("an adapter takes over the frozen product of a layer that does nothing else") {
  const auto adapted = [](const AdapterOptions& adapter, std::string_view last_pass) {
    ModelBuilder m = builder();
    const Value h =
        m.residual(0, "mlp", embedded(m), [&](Value x) { return mlp(m, m.layer_norm(x, "n")); });
    finish(m, [&] { return m.layer_norm(h, "last"); });
    Model model = m.finish();
    add_adapters(model, {.adapter = adapter});
    fuse_adapters(model, {});
    check_model(model, last_pass);
    return print(model);
  };
  const AdapterOptions both{
      .weights = {{"up.weight", {"up", 2, 0.5}}, {"down.weight", {"down", 3, 4}}}};
  const std::string text = adapted(both, "fuse_adapters");
  CHECK(text.find("h0.mlp low_rank normed (frozen:up.weight frozen:up.bias up.lora_A.weight "
                  "up.lora_B.weight) > narrow preactivation\n"
                  "h0.mlp activation preactivation () > activated\n"
                  "h0.mlp low_rank activated (frozen:down.weight frozen:down.bias "
                  "down.lora_A.weight down.lora_B.weight) > narrow branch0\n") !=
        std::string::npos);
  // a bias that is trained is the layer's
  AdapterOptions trained = both;
  trained.trained = {"up.bias"};
  CHECK(adapted(trained, "fuse_adapters").find("linear normed") != std::string::npos);
}

TEST_CASE("a frozen head of a GPU makes fewer rows of logits at a time, all of one size") {
  const auto rows = [](std::int64_t batch_size, std::string_view pattern, bool gpu) {
    architectures::GraphOptions options = gpu ? architectures::GraphOptions::on_gpu(false, 80)
                                              : architectures::GraphOptions::on_cpu(1);
    options.passes.rules = {{.pattern = std::string(pattern), .trained = false}};
    std::int64_t chunk = 0;
    observe_graph_passes(
        architectures::Gpt2Dims{
            .num_layers = 1, .num_heads = 2, .hidden_size = 128, .max_positions = 512},
        batch_size, 512, DType::bf16, options,
        [&](std::string_view, const Model& model) { chunk = model.head.chunk; });
    return chunk;
  };
  CHECK(rows(16, "*", true) == 2048);
  CHECK(rows(16, "wte.weight", true) == 2048);
  CHECK(rows(16, "h.*", true) == 8192);
  CHECK(rows(4, "*", true) == 2048);
  CHECK(rows(3, "*", true) == 1536);
  CHECK(rows(10, "*", true) == 1728);  // 5120 rows by threes, in steps of 64
  CHECK(rows(16, "*", false) == rows(16, "h.*", false));
}

namespace {

architectures::ModelDims llama() {
  return architectures::dims_from_config(R"({"model_type": "llama", "num_hidden_layers": 1,
      "hidden_size": 16, "intermediate_size": 12, "num_attention_heads": 4,
      "num_key_value_heads": 2, "vocab_size": 9, "max_position_embeddings": 8})",
                                         "config.json");
}

/// The model after all passes.
Model passed(const architectures::ModelDims& dims, const GraphPassOptions& passes) {
  architectures::GraphOptions options = architectures::GraphOptions::on_cpu(1);
  options.passes = passes;
  std::optional<Model> model;
  observe_graph_passes(dims, 2, 4, DType::f32, options,
                       [&](std::string_view, const Model& m) { model = m; });
  REQUIRE(model);
  return *model;
}
Model partitioned(const architectures::ModelDims& dims, int ranks) {
  return passed(dims, {.tensor_ranks = ranks});
}

using Names = std::vector<std::string>;
std::vector<std::pair<std::string, Names>> names_of_blocks(const Model& model) {
  std::vector<std::pair<std::string, Names>> blocks;
  for (const Block& block : model.blocks) {
    blocks.emplace_back(block.name, Names());
    for (const Node& op : block.ops)
      blocks.back().second.emplace_back(operations::name_of(op.operation));
  }
  return blocks;
}

}  // namespace

TEST_CASE("ranks that have parts of layers exchange rows between them") {
  const Model model = partitioned(llama(), 2);
  for (const Block& block : model.blocks) {
    CHECK(block.parts.along == program::axes::tensor);
    CHECK(block.parts.count == 2);
    CHECK(block.parts.own_alone);
  }
  const std::vector<std::pair<std::string, Names>> wanted{
      {"embedding", {"embedding"}},
      {"h0.attention", {"exchange"}},
      {"h0.attention.rows", {"residual_norm"}},
      {"h0.attention.gather", {"exchange"}},
      {"h0.attention.part", {"linear", "rotary", "attention", "linear"}},
      {"h0.mlp", {"exchange"}},
      {"h0.mlp.rows", {"residual_norm"}},
      {"h0.mlp.gather", {"exchange"}},
      {"h0.mlp.part", {"linear", "gated", "linear"}},
      {"head", {"exchange"}},
      {"head.rows", {"residual_norm"}},
      {"head.gather", {"exchange"}},
      {"head.part", {"linear", "logit_sums"}},
      {"head.numbers", {"exchange"}},
      {"head.part2", {"part_loss"}}};
  CHECK(names_of_blocks(model) == wanted);
  const auto block = [&](std::string_view name) -> const Block& {
    return *std::ranges::find(model.blocks, name, &Block::name);
  };
  CHECK(block("h0.mlp.rows").rows_of_part == 4);  // of 2 samples of 4 tokens
  CHECK(block("h0.mlp.part").rows_of_part == 0);
  const auto& attention =
      std::get<operations::Attention>(block("h0.attention.part").ops[2].operation);
  CHECK(attention.query_heads == 2);
  CHECK(attention.key_value_heads == 1);
  const auto table = [&](const std::string& name) -> const program::ParameterSpec& {
    return std::ranges::find(model.parameters, name,
                             [](const ModelParameter& p) { return p.spec.name; })
        ->spec;
  };
  // a vocabulary of 9 has a row of padding
  CHECK(table("lm_head.weight").dims == std::vector<std::int64_t>{10, 16});
  CHECK(table("lm_head.weight").saved_dims == std::vector<std::int64_t>{9, 16});
  for (const std::string_view name : {"embedding", "head.part"})
    CHECK(block(name).ops.front().parameters.front().part_of == PartOf::rows);
  CHECK(block("h0.mlp.part").ops.back().parameters.front().part_of == PartOf::columns);
  CHECK(model.head.chunk == 0);
}

TEST_CASE("ranks have a part of every expert, and tell each other what routers counted") {
  const Model model = partitioned(mixture(true), 2);
  const std::vector<std::pair<std::string, Names>> wanted{
      {"h0.mlp.rows", {"residual_norm", "router"}},
      {"h0.mlp.gather", {"exchange"}},
      {"h0.mlp.gather2", {"exchange"}},
      {"h0.mlp.gather3", {"exchange"}},
      {"h0.mlp.part", {"dispatch", "grouped_linear", "gated", "grouped_linear", "combine"}},
      {"head", {"exchange"}},
      {"head.rows", {"residual_norm"}},
      {"head.gather", {"exchange"}},
      {"head.part", {"linear", "logit_sums"}},
      {"head.numbers", {"exchange"}},
      {"head.numbers2", {"exchange"}},
      {"head.part2", {"part_loss", "router_loss", "expert_loads"}}};
  auto blocks = names_of_blocks(model);
  blocks.erase(blocks.begin(),
               std::ranges::find(blocks, "h0.mlp.rows", &std::pair<std::string, Names>::first));
  CHECK(blocks == wanted);
  const auto block = [&](std::string_view name) -> const Block& {
    return *std::ranges::find(model.blocks, name, &Block::name);
  };
  const std::vector<Node>& ops = block("h0.mlp.part").ops;
  CHECK(ops[1].parameters.front().part_of == PartOf::rows);  // of each expert's tensors
  CHECK(ops[3].parameters.front().part_of == PartOf::columns);
  const auto& loss = std::get<operations::RouterLoss>(block("head.part2").ops[1].operation);
  CHECK(loss.ranks == 2);
  CHECK(loss.target_ranks == 1);
}

TEST_CASE("neighbours share a key-value head where there are fewer of them than ranks") {
  const Model model = partitioned(llama(), 4);
  std::vector<std::string> made;
  for (const Block& block : model.blocks)
    if (block.name.starts_with("h0.attention"))
      for (const Node& op : block.ops) made.emplace_back(operations::name_of(op.operation));
  CHECK(made == std::vector<std::string>{"exchange", "residual_norm", "linear", "exchange",
                                         "linear", "exchange", "shared_heads", "rotary",
                                         "attention", "linear"});
  for (const ModelParameter& p : model.parameters)
    if (p.spec.name == "model.layers.0.self_attn.k_proj.weight") CHECK_FALSE(p.continues);
}

TEST_CASE("ranks that have tokens of each row exchange heads around attention") {
  const Model model = passed(llama(), {.context_ranks = 4});
  const std::vector<std::pair<std::string, Names>> wanted{
      {"embedding", {"embedding"}},
      {"h0.attention", {"residual_norm", "linear", "heads_by_rank"}},
      {"h0.attention.exchange", {"exchange"}},
      {"h0.attention.part", {"rotary", "attention"}},
      {"h0.attention.exchange2", {"exchange"}},
      {"h0.attention.rows", {"heads_by_rank", "linear"}},
      {"h0.mlp", {"residual_norm", "linear", "gated", "linear"}},
      {"head", {"residual_norm", "linear", "cross_entropy"}}};
  CHECK(names_of_blocks(model) == wanted);
  for (const Block& block : model.blocks) {
    CAPTURE(block.name);
    CHECK(block.parts.along == program::axes::context);
    CHECK(block.parts.count == 4);
    CHECK(block.parts.own_alone);
    const std::string_view first = operations::name_of(block.ops.front().operation);
    const bool of_rows = first != "exchange" && first != "rotary";
    CHECK(block.rows_of_part == (of_rows ? 2 : 0));  // of 2 samples of 4 tokens
  }
  const auto& attention = std::get<operations::Attention>(model.blocks[3].ops[1].operation);
  CHECK(attention.query_heads == 1);
  CHECK(attention.key_value_heads == 1);  // of two, which neighbours share
  CHECK(attention.heads_of_layer == 4);
  CHECK(attention.length == 4);
  const ModelValue& targets = model.values[static_cast<std::size_t>(model.head.targets)];
  CHECK(targets.own_rows);
  CHECK(targets.type.dims == std::vector<std::int64_t>{1, 2});
  CHECK(model.head.expected_rows == 2);
}

TEST_CASE("what ranks cannot have tokens of is refused with its reason") {
  const auto refusal = [](const architectures::ModelDims& dims, int ranks) {
    try {
      passed(dims, {.context_ranks = ranks});
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::invalid_recipe);
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refusal(llama(), 8).find("heads") != std::string::npos);
  CHECK(refusal(llama(), 3).find("tokens") != std::string::npos);
  CHECK(refusal(mixture(), 2).empty());
}

namespace {

/// The first operation of the type, and its block.
template <class Operation>
std::pair<const Block*, const Node*> first(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      if (std::holds_alternative<Operation>(op.operation)) return {&block, &op};
  return {};
}

}  // namespace

TEST_CASE("ranks with tokens of rows know the choices of all where experts have a capacity") {
  const architectures::Gpt2Dims bounded{.num_layers = 1,
                                        .num_heads = 2,
                                        .hidden_size = 8,
                                        .max_positions = 8,
                                        .num_experts = 4,
                                        .decoder_sparse_step = 1,
                                        .capacity_factor = 1};
  for (const bool keeps_choices : {false, true}) {
    const Model model = passed(bounded, {.context_ranks = 2, .keeps_choices = keeps_choices});
    const auto [block, op] = first<operations::Dispatch>(model);
    REQUIRE(op);
    const auto& dispatch = std::get<operations::Dispatch>(op->operation);
    CHECK(dispatch.ranks == 2);
    CHECK(dispatch.capacity == (keeps_choices ? 8 : 2));  // of 8 tokens and 4 experts
    REQUIRE(op->inputs.size() == 3);
    const ValueId own = op->inputs[operations::Dispatch::indices],
                  all = op->inputs[operations::Dispatch::all];
    CHECK(model.values[static_cast<std::size_t>(own)].type.dims == std::vector<std::int64_t>{4, 1});
    CHECK(model.values[static_cast<std::size_t>(all)].type.dims == std::vector<std::int64_t>{8, 1});
    const Block* const before = block - 1;
    CHECK(before->parts.exchange == program::axes::context);
    CHECK(before->ops.front().inputs == std::vector{own});
    CHECK(before->ops.front().outputs == std::vector{all});
  }
  CHECK(
      first<operations::Dispatch>(passed(mixture(), {.context_ranks = 2})).second->inputs.size() ==
      2);
}

TEST_CASE("blocks of shared experts stay whole where ranks have tokens of rows") {
  const Model alone = passed(mixture(), {.sharing = {.ranks = 2}}),
              both = passed(mixture(), {.sharing = {.ranks = 2}, .context_ranks = 2});
  const auto blocks = names_of_blocks(both);
  const auto experts = std::ranges::find(both.blocks, "h0.mlp.experts", &Block::name);
  REQUIRE(experts != both.blocks.end());
  CHECK(experts->parts.along == program::axes::expert);
  CHECK(experts->parts.count == 2);
  CHECK_FALSE(experts->parts.own_alone);
  CHECK((experts - 1)->parts.along == program::axes::context);
  CHECK((experts + 1)->parts.along == program::axes::context);
  CHECK(std::ranges::count(names_of_blocks(alone),
                           blocks[static_cast<std::size_t>(experts - both.blocks.begin())]) == 1);
  const auto rows = [](const Model& model) {
    const auto [block, op] = first<operations::Combine>(model);
    return std::pair(std::get<operations::Combine>(op->operation).expected_rows,
                     model.values[static_cast<std::size_t>(op->outputs.front())].type.rows());
  };
  CHECK(rows(alone) == std::pair<std::int64_t, std::int64_t>{16, 16});  // 2 choices of 8 tokens
  CHECK(rows(both) == std::pair<std::int64_t, std::int64_t>{8, 8});
}

TEST_CASE("what ranks cannot have parts of is refused with the block") {
  const auto refusal = [](const architectures::ModelDims& dims, int ranks) {
    try {
      partitioned(dims, ranks);
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::invalid_recipe);
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refusal(llama(), 8).find("h0.attention") != std::string::npos);  // four heads
  CHECK(refusal(llama(), 3).find("tokens") != std::string::npos);
}

TEST_CASE("an adapter of a layer that the model lacks is passed over") {
  ModelBuilder m = builder();
  const Value h = embedded(m);
  finish(m, [&] { return m.layer_norm(h, "last"); });
  Model model = m.finish();
  const std::size_t parameters = model.parameters.size();
  add_adapters(model, {.adapter = {.weights = {{"other.weight", {"other", 1, 1}}}}});
  CHECK(model.parameters.size() == parameters);
}

TEST_CASE("a model that a pass has broken is named with the pass") {
  const auto broken = [](auto&& breaks) {
    ModelBuilder m = builder();
    Value h =
        m.residual(0, "mlp", embedded(m), [&](Value x) { return mlp(m, m.layer_norm(x, "n")); });
    finish(m, [&] { return m.layer_norm(h, "last"); });
    Model model = m.finish();
    check_model(model, "");
    breaks(model);
    try {
      check_model(model, "fuse_bias");
    } catch (const InternalError& error) { return std::string(error.what()); }
    return std::string();
  };
  const auto names_the_pass = [&](auto&& breaks) {
    const std::string said = broken(breaks);
    INFO(said);
    CHECK(said.find("fuse_bias") != std::string::npos);
  };
  CHECK(broken([](Model&) {}).empty());
  names_the_pass([](Model& m) { std::swap(m.blocks[1].ops[0], m.blocks[1].ops[1]); });
  names_the_pass([](Model& m) { m.blocks[1].ops[1].parameters[0].index = 100; });
  names_the_pass([](Model& m) { m.blocks[1].ops[1].outputs = m.blocks[1].ops[0].outputs; });
  names_the_pass([](Model& m) { m.blocks[1].ops[1].gradient_of = {0, 0, 0, 0, 0, 0}; });
  names_the_pass([](Model& m) {
    m.values[static_cast<std::size_t>(m.blocks[1].ops[1].outputs.back())].type.dims = {1};
  });
  names_the_pass([](Model& m) { m.head.targets = std::ssize(m.values); });
}

}  // namespace graph_passes_test
