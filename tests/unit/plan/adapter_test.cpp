// Which parameters an adapter's settings name in a model.
#include "plan/adapter.hpp"
#include "architectures/architecture.hpp"
#include "architectures/own_head.hpp"
#include "core/error.hpp"
#include "plan/adapted_dims.hpp"
#include "plan/checkpoint_size.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <algorithm>
#include <cmath>

namespace adapter_test {

using namespace trainx;
using plan::AdapterPlan;

namespace {

architectures::ModelDims model(const std::string& more) {
  return architectures::dims_from_config(
      R"({"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 6,
          "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 9,
          "max_position_embeddings": 8, )" +
          more + "}",
      "config.json");
}

architectures::ModelDims gpt2() {
  return architectures::dims_from_config(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8,
                                             "n_head": 2, "n_positions": 8, "vocab_size": 9})",
                                         "config.json");
}

adapter::Targets suffixes(std::vector<std::string> all) {
  return {.kind = adapter::Targets::Kind::suffixes, .suffixes = std::move(all), .expression = ""};
}

adapter::Config of_all_linear(std::int64_t rank) {
  adapter::Config config;
  config.rank = rank;
  config.targets.kind = adapter::Targets::Kind::all_linear;
  return config;
}

std::string parameter_of(const AdapterPlan& plan, const std::string& tensor) {
  const auto at = std::ranges::find(plan.tensors, tensor, &AdapterPlan::Tensor::name);
  return at == plan.tensors.end() ? "" : at->parameter;
}

ExitCode code_of(const adapter::Config& config, const architectures::ModelDims& dims) {
  try {
    plan::adapter_of(config, dims);
  } catch (const UserError& e) { return e.code(); }
  return ExitCode::ok;
}

}  // namespace

TEST_CASE("all linear layers but the head get an adapter, under PEFT's names") {
  const AdapterPlan plan = plan::adapter_of(of_all_linear(3), model(R"("model_type": "llama")"));
  CHECK(plan.modules.size() == 14);
  CHECK(plan.options.weights.size() == 14);
  CHECK_FALSE(plan.options.weights.contains("lm_head.weight"));
  const std::string layer = "model.layers.1.mlp.down_proj";
  CHECK(parameter_of(plan, "base_model.model." + layer + ".lora_A.weight") ==
        layer + ".lora_A.weight");
  // q 8 x 8, k and v 4 x 8, o 8 x 8, gate, up and down 6 x 8
  CHECK(plan.trained == 2 * 3 * (16 + 12 + 12 + 16 + 3 * 14));
}

TEST_CASE("GPT-2's modules have the prefix of its class; files hold its weights turned") {
  adapter::Config config;
  config.rank = 2;
  config.targets = suffixes({"c_attn"});
  const AdapterPlan plan = plan::adapter_of(config, gpt2());
  CHECK(parameter_of(plan, "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight") ==
        "h.0.attn.c_attn.lora_B.weight");
  CHECK(plan.config.fan_in_fan_out);
}

TEST_CASE("the head of GPT-NeoX has transformers' name in adapters and the file's in the model") {
  const bool tied = GENERATE(false, true);
  const auto dims = model(R"("model_type": "gpt_neox", "num_key_value_heads": 2,
                             "tie_word_embeddings": )" +
                          std::string(tied ? "true" : "false"));
  adapter::Config config;
  config.targets = suffixes({"lm_head"});
  const std::string b = "base_model.model.lm_head.lora_B.weight";
  auto parted = dims;
  if (tied) parted = plan::adapted_dims(config, dims, adapter::Unmatched::refused);
  const AdapterPlan adapted = plan::adapter_of(config, parted);
  CHECK(parameter_of(adapted, b) == "embed_out.lora_B.weight");
  CHECK(adapted.options.weights.contains("embed_out.weight"));
  CHECK(adapted.base_tensors.size() == 1);
  config.targets = suffixes({"dense"});
  config.modules_to_save = {"lm_head"};
  const AdapterPlan whole = plan::adapter_of(config, parted);
  CHECK(parameter_of(whole, "base_model.model.lm_head.weight") == "embed_out.weight");
  config.modules_to_save = {"embed_out"};
  CHECK(code_of(config, parted) == ExitCode::invalid_recipe);
}

TEST_CASE("of a mixture PEFT adapts routers and stacked experts, too") {
  const AdapterPlan plan = plan::adapter_of(
      of_all_linear(2),
      model(R"("model_type": "olmoe", "num_experts": 3, "num_experts_per_tok": 2)"));
  const std::string mlp = "model.layers.0.mlp.", file = "base_model.model." + mlp;
  CHECK(plan.options.weights.contains(mlp + "gate.weight"));
  CHECK(parameter_of(plan, file + "experts.lora_A.weight") ==
        mlp + "experts.down_proj.lora_A.weight");
  CHECK(parameter_of(plan, file + "experts.base_layer.lora_B.weight") ==
        mlp + "experts.gate_up_proj.lora_B.weight");
  // each expert's matrices are parts of what the file's tensors make
  std::int64_t of_experts = 0, rows = 0;
  for (const AdapterPlan::Added& added : plan.added)
    if (added.to.parameter.starts_with(mlp + "experts.2.")) {
      CHECK(added.to.expert == 2);
      CHECK(added.experts == 3);
      ++of_experts;
      rows += added.to.first_row;
    }
  CHECK(of_experts == 3);
  CHECK(rows == 6);  // the second half of what gate and up are together
}

TEST_CASE("experts that lie in one tensor are named as in transformers' class") {
  adapter::Config config = of_all_linear(2);
  config.targets = suffixes({"q_proj"});
  config.target_parameters = {"experts.gate_up_proj", "experts.down_proj"};
  const auto names = [&](const std::string& layer, const architectures::ModelDims& dims) {
    const AdapterPlan adapted = plan::adapter_of(config, dims);
    const std::string file = "base_model.model.model.layers.1." + layer + ".experts.";
    // gate and up are [3, 12, 8], down [3, 8, 6]
    CHECK(adapted.trained == 2 * 2 * ((8 + 8) + 3 * (8 + 12) + 3 * (6 + 8)));
    return std::pair(parameter_of(adapted, file + "base_layer.lora_A.weight"),
                     parameter_of(adapted, file + "lora_B.weight"));
  };
  const std::string experts = R"("num_local_experts": 3, "num_experts_per_tok": 2)";
  CHECK(names("mlp", model(R"("model_type": "gpt_oss", "head_dim": 4, "rope_parameters": )"
                           R"({"rope_type": "default", "rope_theta": 10000.0}, )" +
                           experts)) ==
        std::pair<std::string, std::string>("model.layers.1.mlp.experts.gate_up_proj.lora_A.weight",
                                            "model.layers.1.mlp.experts.down_proj.lora_B.weight"));
  const std::string block = "block_sparse_moe", in_files = "model.layers.1." + block;
  CHECK(names(block, model(R"("model_type": "granitemoe", )" + experts)) ==
        std::pair(in_files + ".input_linear.lora_A.weight",
                  in_files + ".output_linear.lora_B.weight"));
  CHECK(names("mlp", model(R"("model_type": "mixtral", )" + experts)) ==
        std::pair(in_files + ".experts.gate_up_proj.lora_A.weight",
                  in_files + ".experts.down_proj.lora_B.weight"));
}

TEST_CASE("what trainx has no adapter for is refused with 78") {
  const auto llama = model(R"("model_type": "llama")");
  adapter::Config config = of_all_linear(2);
  config.targets = suffixes({"q_prj"});
  CHECK(code_of(config, llama) == ExitCode::invalid_recipe);
  config.targets.suffixes = {"wpe"};
  CHECK(code_of(config, gpt2()) == ExitCode::invalid_recipe);
  // a head of masked tokens is no module of its own, and could not be parted
  config.targets.suffixes = {"word_embeddings"};
  const auto bert = [](const std::string& architecture) {
    return architectures::dims_from_config(
        R"({"model_type": "bert", "num_hidden_layers": 1, "hidden_size": 8, "vocab_size": 9,
            "intermediate_size": 6, "num_attention_heads": 2, "max_position_embeddings": 8,
            "architectures": [")" +
            architecture + R"("]})",
        "config.json");
  };
  CHECK(code_of(config, bert("BertForMaskedLM")) == ExitCode::invalid_recipe);
  CHECK(code_of(config, bert("BertForSequenceClassification")) == ExitCode::ok);
}

TEST_CASE("an embedding's adapter is added to its table, which PEFT saves too") {
  adapter::Config config;
  config.rank = 2;
  config.targets = suffixes({"embed_tokens"});
  const AdapterPlan plan = plan::adapter_of(config, model(R"("model_type": "llama")"));
  const std::string module = "model.embed_tokens", file = "base_model.model." + module;
  CHECK(plan.options.embeddings ==
        std::map<std::string, graph::LowRankOptions>{{module + ".weight", {module, 2, 4}}});
  CHECK(plan.options.weights.empty());
  CHECK(parameter_of(plan, file + ".lora_embedding_A") == module + ".lora_A.weight");
  CHECK(parameter_of(plan, file + ".lora_embedding_B") == module + ".lora_B.weight");
  CHECK(plan.base_tensors ==
        std::vector<AdapterPlan::Tensor>{{file + ".base_layer.weight", module + ".weight"}});
  CHECK(plan.trained == 2 * (9 + 8));
  REQUIRE(plan.added.size() == 1);
  CHECK(plan.added.front().of_embedding);
}

TEST_CASE("an adapter that changes the embedding or a tied head alone parts them") {
  const auto tied = model(R"("model_type": "llama", "tie_word_embeddings": true)");
  const auto parts = [](const adapter::Config& config, const architectures::ModelDims& dims) {
    const auto adapted = plan::adapted_dims(config, dims, adapter::Unmatched::refused);
    return architectures::has_partable_head(dims) && !architectures::has_partable_head(adapted);
  };
  adapter::Config config;
  config.targets = suffixes({"q_proj"});
  CHECK_FALSE(parts(config, tied));
  for (const std::string module : {"lm_head", "embed_tokens"}) {
    INFO(module);
    config.modules_to_save = {{module}};
    CHECK(parts(config, tied));
    CHECK_FALSE(parts(config, model(R"("model_type": "llama")")));
    config.modules_to_save.reset();
    config.targets = suffixes({module});
    CHECK(parts(config, tied));
    config.targets = suffixes({"q_proj"});
  }
  config.modules_to_save = {{"lm_head", "embed_tokens"}};
  CHECK(parts(config, tied));
  config.ensure_weight_tying = true;
  CHECK_FALSE(parts(config, tied));
  config = {};
  config.targets = suffixes({"c_attn"});
  config.modules_to_save = {{"wte"}};
  CHECK(parts(config, gpt2()));
  config.modules_to_save.reset();
  config.trainable_tokens = {true, {{"", {3}}}};
  CHECK_FALSE(parts(config, gpt2()));
  config.trainable_tokens = {false, {{"lm_head", {3}}}};
  CHECK(parts(config, gpt2()));
  config.trainable_tokens = {false, {{"lm_head", {3}}, {"wte", {3}}}};
  CHECK_FALSE(parts(config, gpt2()));
  config.trainable_tokens = {false, {{"lm_head", {3}}, {"wte", {4}}}};
  CHECK(parts(config, gpt2()));
}

TEST_CASE("single tokens are rows of the embedding or the head") {
  const auto untied = model(R"("model_type": "llama")"),
             tied = model(R"("model_type": "llama", "tie_word_embeddings": true)");
  adapter::Config config;
  config.targets = suffixes({"q_proj"});
  const auto tokens = [&](bool is_list, auto of_modules) {
    config.trainable_tokens = {is_list, std::move(of_modules)};
  };
  using Lists = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
  tokens(true, Lists{{"", {8, 0}}});
  const AdapterPlan plan = plan::adapter_of(config, untied);
  const std::string table = "model.embed_tokens.weight",
                    rows = "model.embed_tokens.trainable_tokens_delta";
  CHECK(plan.options.token_rows.at(table).ids == std::vector<std::int32_t>{8, 0});
  CHECK(plan.options.token_rows.size() == 1);
  CHECK(parameter_of(plan,
                     "base_model.model.model.embed_tokens.token_adapter."
                     "trainable_tokens_delta") == rows);
  REQUIRE(plan.replaced.size() == 1);
  CHECK(plan.replaced.front().rows == rows);
  CHECK(plan::adapter_of(config, tied).options == plan.options);
  for (const Lists& wrong :
       {Lists{{"embed_tokens", {9}}}, Lists{{"embed_tokens", {1, 1}}}, Lists{{"embed_tokens", {}}},
        Lists{{"q_proj", {1}}}, Lists{{"nothing", {1}}}, Lists{{"norm", {1}}},
        Lists{{"embed_tokens", {1}}, {"model.embed_tokens", {2}}}}) {
    tokens(false, wrong);
    CHECK(code_of(config, untied) == ExitCode::invalid_recipe);
  }
  tokens(false, Lists{{"embed_tokens", {1}}, {"lm_head", {2, 3}}});
  CHECK(code_of(config, untied) == ExitCode::ok);
  config.ensure_weight_tying = true;
  CHECK(code_of(config, tied) == ExitCode::invalid_recipe);
  config.ensure_weight_tying = false;
  // of what has an adapter, or is trained whole
  tokens(true, Lists{{"", {1}}});
  config.targets = suffixes({"embed_tokens"});
  CHECK(code_of(config, untied) == ExitCode::invalid_recipe);
  config.targets = suffixes({"q_proj"});
  config.modules_to_save = {{"lm_head"}};
  CHECK(code_of(config, untied) == ExitCode::ok);
  CHECK(code_of(config, tied) == ExitCode::invalid_recipe);
  config.modules_to_save.reset();
  // whose bias PEFT would leave out
  CHECK(code_of(config, model(R"("model_type": "phi", "tie_word_embeddings": true)")) ==
        ExitCode::invalid_recipe);
}

TEST_CASE("a checkpoint of an adapter has nothing of the model") {
  recipe::Recipe recipe = gpt2_recipe("");
  recipe.model.adapter.type = options::AdapterType::lora;
  recipe.model.adapter.rank = 8;
  const auto bytes = static_cast<double>(plan::checkpoint_size(planned(recipe, {})).each_bytes);
  // c_attn, c_proj, c_fc and c_proj of 12 layers; AdamW keeps two states of 4 bytes
  const double numbers = 12.0 * 8 * (768 + 2304 + 768 + 768 + 768 + 3072 + 3072 + 768);
  CHECK(std::abs(bytes / (12 * numbers) - 1) < 0.02);
}

// 2 bytes a parameter, and 2 of an adapter's exact bits beside them.
TEST_CASE("the base model is in memory once, in the type that is computed in, and is never cast") {
  recipe::Recipe recipe = gpt2_recipe("precision: bf16\n");
  recipe.model.adapter.type = options::AdapterType::lora;
  recipe.model.adapter.rank = 8;
  const plan::RunPlan run = planned(recipe, {});
  const auto& placed = run.role().train.back();
  CHECK(placed.graph.without_gpu_kernel.empty());
  program::Bytes base = 0;
  for (const program::GroupSpec& g : placed.graph.groups)
    if (!g.training.trained) base += 2 * g.elements;
  CHECK(base > 2 * 124'000'000);
  program::Bytes found = 0;
  for (const program::Buffer& b : placed.program.buffers) {
    if (!program::is_of_group(b)) continue;
    if (placed.graph.groups[static_cast<std::size_t>(b.index)].training.trained) continue;
    CHECK(b.role == program::Role::parameter);
    CHECK(b.dtype == DType::bf16);
    found += b.bytes();
  }
  CHECK(found == base);
  for (const auto* programs : {&run.role().train, &run.role().evaluate})
    for (const program::Instruction& i : programs->back().program.steady)
      CHECK(i.op != program::Op::cast);
}

}  // namespace adapter_test
