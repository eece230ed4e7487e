#include "adapter/config.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <nlohmann/json.hpp>

namespace config_test {

using namespace trainx;
using namespace trainx::adapter;
using nlohmann::json;

namespace {

Config read(const json& settings) {
  json file{{"peft_type", "LORA"}};
  file.update(settings);
  return read_config(file.dump(), "a/adapter_config.json");
}

std::string refusal(const json& settings) {
  return user_error_of([&] { read(settings); });
}

}  // namespace

TEST_CASE("absent and null keys have LoraConfig's defaults") {
  const json nothing = json::object();
  const json nulls{{"r", nullptr},
                   {"lora_alpha", nullptr},
                   {"lora_dropout", nullptr},
                   {"rank_pattern", nullptr},
                   {"target_modules", nullptr},
                   {"bias", nullptr}};
  for (const json& settings : {nothing, nulls}) {
    const Config config = read(settings);
    CHECK(config.rank == 8);
    CHECK(config.alpha == 8.0);
    CHECK(config.dropout == 0.0);
    CHECK_FALSE(config.rslora);
    CHECK(config.targets.kind == Targets::Kind::of_model_type);
    CHECK(config.rank_pattern.empty());
    CHECK_FALSE(config.modules_to_save);
    CHECK(config.unknown_keys.empty());
  }
}

TEST_CASE("targets are a list, an expression or all-linear") {
  using Kind = Targets::Kind;
  CHECK(read({{"target_modules", {"q_proj"}}}).targets.suffixes ==
        std::vector<std::string>{"q_proj"});
  CHECK(read({{"target_modules", "All-Linear"}}).targets.kind == Kind::all_linear);
  CHECK(read({{"target_modules", ".*q"}}).targets ==
        Targets{.kind = Kind::expression, .suffixes = {}, .expression = ".*q"});
  CHECK(read({{"target_modules", json::array()}}).targets.kind == Kind::suffixes);
  CHECK(read({{"exclude_modules", "all-linear"}}).exclude_modules->kind == Kind::expression);
}

TEST_CASE("patterns keep the file's order") {
  const std::string text =
      R"({"peft_type": "LORA", "rank_pattern": {"z": 2, "a": 3}, "alpha_pattern": {"b": 1.5, "a": 4}})";
  const Config config = read_config(text, "f");
  CHECK(config.rank_pattern ==
        std::vector<std::pair<std::string, std::int64_t>>{{"z", 2}, {"a", 3}});
  CHECK(config.alpha_pattern ==
        std::vector<std::pair<std::string, double>>{{"b", 1.5}, {"a", 4.0}});
}

TEST_CASE("tokens that are trained by themselves are a list, or lists by module") {
  const auto read = [](const std::string& tokens) {
    return read_config(R"({"peft_type": "LORA", "trainable_token_indices": )" + tokens + "}", "f");
  };
  CHECK_FALSE(read("null").trainable_tokens);
  const Config list = read("[5, 0, 2147483647]"), by_module = read(R"({"wte": [3], "b": []})");
  CHECK(list.trainable_tokens == TokenIndices{true, {{"", {5, 0, 2147483647}}}});
  CHECK(by_module.trainable_tokens == TokenIndices{false, {{"wte", {3}}, {"b", {}}}});
  CHECK(json::parse(config_text(list)).at("trainable_token_indices") == json{5, 0, 2147483647});
  CHECK(json::parse(config_text(by_module)).at("trainable_token_indices") ==
        json{{"wte", {3}}, {"b", json::array()}});
}

TEST_CASE("what changes the arithmetic is refused by file and key") {
  const std::vector<std::pair<std::string, json>> refused{
      {"use_dora", true},
      {"use_qalora", true},
      {"lora_bias", true},
      {"bias", "all"},
      {"bias", "lora_only"},
      {"layer_replication", {{0, 1}}},
      {"megatron_config", {{"a", 1}}},
      {"trainable_token_indices", 1},
      {"trainable_token_indices", {-1}},
      {"trainable_token_indices", {1.5}},
      {"trainable_token_indices", {"1"}},
      {"trainable_token_indices", {2147483648}},
      {"trainable_token_indices", {{"embed_tokens", 1}}},
      {"alora_invocation_tokens", {1}},
      {"monteclora_config", {{"num_samples", 8}}},
      {"velora_config", {{"a", 1}}},
      {"use_bdlora", {{"nblocks", 2}}},
      {"arrow_config", {{"top_k", 3}}},
      {"kasa_config", {{"beta", 1}}},
      {"init_lora_weights", "pissa"},
      {"init_lora_weights", "pissa_niter_4"},
      {"init_lora_weights", "OLoRA"},
      {"init_lora_weights", "corda"},
      {"init_lora_weights", "loftq"},
      {"init_lora_weights", "lora_ga"},
      {"init_lora_weights", "mica"},
      {"init_lora_weights", "unheard"},
      {"init_lora_weights", 1},
      {"peft_type", "IA3"},
      {"peft_type", nullptr},
      {"task_type", "SOMETHING"},
      {"r", 0},
      {"r", -1},
      {"r", 2.5},
      {"r", true},
      {"r", "8"},
      {"r", 18446744073709551615u},
      {"lora_alpha", "16"},
      {"lora_alpha", true},
      {"lora_dropout", 1.0},
      {"lora_dropout", -0.1},
      {"use_rslora", 1},
      {"target_modules", 3},
      {"target_modules", {1}},
      {"target_modules", {{"a", 1}}},
      {"target_parameters", "experts"},
      {"modules_to_save", "lm_head"},
      {"modules_to_save", {nullptr}},
      {"rank_pattern", {{"a", 0}}},
      {"rank_pattern", {1}},
      {"alpha_pattern", {{"a", "x"}}},
      {"layers_to_transform", "1"},
      {"layers_to_transform", {1.5}},
      {"layers_pattern", "h"},
      {"auto_mapping", "x"},
      {"a_newer_setting", true},
      {"a_newer_setting", {{"a", 1}}},
  };
  for (const auto& [key, value] : refused) {
    INFO(key << ": " << value.dump());
    const std::string told = refusal({{key, value}});
    CHECK(told.starts_with("65: a/adapter_config.json: "));
    CHECK(told.find(key) != std::string::npos);
  }
  const json layers_of_expression{{"target_modules", ".*q"}, {"layers_to_transform", {1}}};
  CHECK(
      refusal(layers_of_expression).starts_with("65: a/adapter_config.json: layers_to_transform"));
}

TEST_CASE("texts that are no settings are refused") {
  for (const std::string text : {"", "[]", "{", "null", "{\"r\": 1e999}", "\"LORA\"",
                                 "{\"peft_type\": \"LORA\", \"r\": 1e999}"}) {
    INFO(text);
    CHECK(user_error_of([&] { read_config(text, "f"); }).starts_with("65: f"));
  }
  CHECK(user_error_of([] { read_config(std::string(100, '['), "f"); }).starts_with("65: f"));
}

TEST_CASE("keys without effect are passed over, and unknown ones are told") {
  const Config config = read({{"megatron_core", "megatron.core"},
                              {"qalora_group_size", 16},
                              {"eva_config", {{"rho", 2.0}}},
                              {"loftq_config", {{"bits", 4}}},
                              {"peft_version", "9"},
                              {"use_dora", false},
                              {"layer_replication", json::array()},
                              {"init_lora_weights", "gaussian"},
                              {"enable_lora", nullptr},
                              {"merge_weights", false},
                              {"a_newer_size", 16}});
  CHECK(std::get<std::string>(config.initial) == "gaussian");
  // in the file's order
  CHECK(std::vector<std::string>(config.unknown_keys) ==
        std::vector<std::string>{"a_newer_size", "enable_lora", "merge_weights"});
}

TEST_CASE("a file is written as PEFT writes it") {
  Config config;
  config.rank = 4;
  config.alpha = 16;
  config.dropout = 0.05;
  config.targets = {
      .kind = Targets::Kind::suffixes, .suffixes = {"v_proj", "q_proj"}, .expression = {}};
  config.rank_pattern = {{"z", 2}, {"a.é", 3}};
  config.alpha_pattern = {{"z", 0.5}};
  config.layers_to_transform = OneOrMore<std::int64_t>{.values = {1}, .is_list = false};
  config.base_model = "base";
  config.task_type = "CAUSAL_LM";
  CHECK(config_text(config) == R"({
  "alora_invocation_tokens": null,
  "alpha_pattern": {
    "z": 0.5
  },
  "arrow_config": null,
  "auto_mapping": null,
  "base_model_name_or_path": "base",
  "bias": "none",
  "corda_config": null,
  "ensure_weight_tying": false,
  "eva_config": null,
  "exclude_modules": null,
  "fan_in_fan_out": false,
  "inference_mode": true,
  "init_lora_weights": true,
  "kasa_config": null,
  "layer_replication": null,
  "layers_pattern": null,
  "layers_to_transform": 1,
  "loftq_config": {},
  "lora_alpha": 16,
  "lora_bias": false,
  "lora_dropout": 0.05,
  "lora_ga_config": null,
  "megatron_config": null,
  "megatron_core": "megatron.core",
  "modules_to_save": null,
  "monteclora_config": null,
  "peft_type": "LORA",
  "peft_version": "0.21.2",
  "qalora_group_size": 16,
  "r": 4,
  "rank_pattern": {
    "a.\u00e9": 3,
    "z": 2
  },
  "revision": null,
  "target_modules": [
    "v_proj",
    "q_proj"
  ],
  "target_parameters": null,
  "task_type": "CAUSAL_LM",
  "trainable_token_indices": null,
  "use_bdlora": null,
  "use_dora": false,
  "use_qalora": false,
  "use_rslora": false,
  "velora_config": null
})");
}

TEST_CASE("what is written reads back") {
  Config config;
  config.alpha = 3.5;
  config.rslora = true;
  config.targets = {.kind = Targets::Kind::expression, .suffixes = {}, .expression = ".*\\.q_proj"};
  config.exclude_modules =
      Targets{.kind = Targets::Kind::suffixes, .suffixes = {"x"}, .expression = {}};
  config.target_parameters = {"experts.down_proj"};
  config.modules_to_save = {"lm_head"};
  config.ensure_weight_tying = true;
  config.fan_in_fan_out = true;
  config.initial = "orthogonal";
  config.revision = "main";
  config.auto_mapping = {{"base_model_class", "BertForMaskedLM"},
                         {"parent_library", "transformers"}};
  const std::string text = config_text(config);
  CHECK(config_text(read_config(text, "f")) == text);
}

}  // namespace config_test
