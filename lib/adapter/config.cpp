#include "adapter/config.hpp"
#include "adapter/config_reader.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::adapter {
namespace {

using Json = AdapterConfigReader::Json;

bool equals_without_case(std::string text, std::string_view lower) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text == lower;
}

std::optional<Targets> read_targets(const AdapterConfigReader& file, const char* key) {
  const Json* value = file.find(key);
  if (!value) return std::nullopt;
  Targets targets;
  if (value->is_string()) {
    targets.kind = Targets::Kind::expression;
    targets.expression = value->get<std::string>();
  } else {
    targets.kind = Targets::Kind::suffixes;
    targets.suffixes = *file.texts(key);
  }
  return targets;
}

void read_layers(const AdapterConfigReader& file, Config& config) {
  const auto layer_of = [&](const Json& value) {
    if (!value.is_number_integer()) file.fail_value("layers_to_transform", "layers' indices");
    return value.get<std::int64_t>();
  };
  if (const Json* layers = file.find("layers_to_transform")) {
    config.layers_to_transform.emplace();
    config.layers_to_transform->is_list = layers->is_array();
    if (!layers->is_array()) {
      config.layers_to_transform->values = {layer_of(*layers)};
    } else {
      for (const Json& layer : *layers)
        config.layers_to_transform->values.push_back(layer_of(layer));
    }
  }
  if (const Json* pattern = file.find("layers_pattern")) {
    config.layers_pattern.emplace();
    config.layers_pattern->is_list = !pattern->is_string();
    config.layers_pattern->values = pattern->is_string()
                                        ? std::vector<std::string>{pattern->get<std::string>()}
                                        : *file.texts("layers_pattern");
  }
  const bool has_pattern =
      config.layers_pattern &&
      std::ranges::any_of(config.layers_pattern->values, [](const auto& p) { return !p.empty(); });
  if (has_pattern && !config.layers_to_transform)
    file.fail("layers_pattern needs layers_to_transform");
  const auto kind = config.targets.kind;
  if ((kind == Targets::Kind::all_linear || kind == Targets::Kind::expression) &&
      (config.layers_to_transform || config.layers_pattern))
    file.fail("layers_to_transform and layers_pattern need target_modules to be a list");
}

/// What PEFT does with a finished adapter's scheme: it draws by it again before the file's values
/// replace what was drawn, and some of the schemes take what they draw out of the base's weights.
void read_initial(const AdapterConfigReader& file, Config& config) {
  const Json* value = file.find("init_lora_weights");
  if (!value) return;
  if (value->is_boolean()) {
    config.initial = value->get<bool>();
    return;
  }
  const std::string scheme = *file.text("init_lora_weights");
  const bool changes_base = scheme.starts_with("pissa") || scheme.starts_with("corda") ||
                            scheme == "loftq" || scheme == "lora_ga" ||
                            equals_without_case(scheme, "olora");
  if (changes_base)
    file.fail("init_lora_weights is '" + scheme +
              "', which changes the base's weights: trainx has no such adapters; PEFT converts one "
              "by save_pretrained(path_initial_model_for_weight_conversion)");
  if (equals_without_case(scheme, "mica"))
    file.fail("init_lora_weights is '" + scheme + "', whose B does not train: trainx has no MiCA");
  if (scheme != "eva" && scheme != "orthogonal" && !equals_without_case(scheme, "gaussian"))
    file.fail_value("init_lora_weights", "true, false, gaussian, eva or orthogonal");
  config.initial = scheme;
}

void refuse_other_arithmetic(const AdapterConfigReader& file) {
  if (const auto bias = file.text("bias"); bias && *bias != "none")
    file.fail("bias is '" + *bias + "': trainx trains no biases of adapted modules; only 'none'");
  file.refuse("use_dora", "DoRA");
  file.refuse("use_qalora", "QALoRA");
  file.refuse("lora_bias", "bias in adapters");
  file.refuse("layer_replication", "replicated layers");
  file.refuse("megatron_config", "layers of Megatron");
  file.refuse("alora_invocation_tokens", "activated LoRA");
  file.refuse("monteclora_config", "Monte Carlo LoRA");
  file.refuse("velora_config", "VeLoRA");
  file.refuse("use_bdlora", "block-diagonal LoRA");
  file.refuse("arrow_config", "routing between adapters");
  file.refuse("kasa_config", "KaSA");
}

std::vector<std::int64_t> read_tokens(const AdapterConfigReader& file, const Json& list) {
  constexpr const char* key = "trainable_token_indices";
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (!list.is_array()) file.fail_value(key, "a list of tokens, or an object of such lists");
  std::vector<std::int64_t> tokens;
  for (const Json& token : list) {
    if (!token.is_number_integer() || token < 0 || token > most)
      file.fail_value(key, "lists of whole numbers of at least 0");
    tokens.push_back(token.get<std::int64_t>());
  }
  return tokens;
}

std::optional<TokenIndices> read_trainable_tokens(const AdapterConfigReader& file) {
  const Json* value = file.find("trainable_token_indices");
  if (!value) return std::nullopt;
  TokenIndices tokens;
  tokens.is_list = !value->is_object();
  if (tokens.is_list)
    tokens.of_modules.emplace_back("", read_tokens(file, *value));
  else
    for (const auto& [module, list] : value->items())
      tokens.of_modules.emplace_back(module, read_tokens(file, list));
  return tokens;
}

nlohmann::json tokens_of(const std::optional<TokenIndices>& tokens) {
  if (!tokens) return {};
  if (tokens->is_list) return tokens->of_modules.front().second;
  nlohmann::json by_module = nlohmann::json::object();
  for (const auto& [module, list] : tokens->of_modules) by_module[module] = list;
  return by_module;
}

nlohmann::json number_of(double x) {
  constexpr double most = 9007199254740992.0;  // whole numbers below are exact
  if (std::abs(x) < most && x == std::floor(x)) return static_cast<std::int64_t>(x);
  return x;
}

template <class T>
nlohmann::json list_or_null(const std::optional<std::vector<T>>& values) {
  return values ? nlohmann::json(*values) : nlohmann::json();
}

template <class T>
nlohmann::json one_or_more(const std::optional<OneOrMore<T>>& value) {
  if (!value) return {};
  if (value->is_list) return value->values;
  return value->values.front();
}

nlohmann::json text_or_null(const std::optional<std::string>& text) {
  return text ? nlohmann::json(*text) : nlohmann::json();
}

nlohmann::json targets_of(const Targets& targets) {
  switch (targets.kind) {
    case Targets::Kind::of_model_type: return {};
    case Targets::Kind::all_linear: return "all-linear";
    case Targets::Kind::expression: return targets.expression;
    case Targets::Kind::suffixes: break;
  }
  return targets.suffixes;
}

}  // namespace

Config read_config(const std::string& text, const std::string& path) {
  const AdapterConfigReader file(text, path);
  const auto type = file.text("peft_type");
  if (!type) file.fail("peft_type is missing; it must be 'LORA'");
  if (*type != "LORA") file.fail("peft_type is '" + *type + "': trainx has LoRA alone");
  refuse_other_arithmetic(file);

  Config config;
  config.rank = file.rank("r", config.rank);
  config.alpha = file.number("lora_alpha", config.alpha);
  config.dropout = file.number("lora_dropout", config.dropout);
  if (!(config.dropout >= 0.0 && config.dropout < 1.0))
    file.fail_value("lora_dropout", "at least 0 and below 1");
  config.rslora = file.flag("use_rslora");
  if (auto targets = read_targets(file, "target_modules")) {
    config.targets = *targets;
    if (targets->kind == Targets::Kind::expression &&
        equals_without_case(targets->expression, "all-linear"))
      config.targets = {.kind = Targets::Kind::all_linear, .suffixes = {}, .expression = {}};
  }
  config.exclude_modules = read_targets(file, "exclude_modules");
  read_layers(file, config);
  config.rank_pattern = file.ranks("rank_pattern");
  config.alpha_pattern = file.numbers("alpha_pattern");
  config.target_parameters = file.texts("target_parameters");
  config.modules_to_save = file.texts("modules_to_save");
  config.trainable_tokens = read_trainable_tokens(file);
  config.ensure_weight_tying = file.flag("ensure_weight_tying");
  config.fan_in_fan_out = file.flag("fan_in_fan_out");
  read_initial(file, config);
  config.base_model = file.text("base_model_name_or_path");
  config.revision = file.text("revision");
  config.task_type = file.text("task_type");
  constexpr std::string_view tasks[] = {"CAUSAL_LM", "SEQ_2_SEQ_LM", "SEQ_CLS",
                                        "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"};
  if (config.task_type && std::ranges::find(tasks, *config.task_type) == std::end(tasks))
    file.fail_value("task_type",
                    "CAUSAL_LM, SEQ_2_SEQ_LM, SEQ_CLS, TOKEN_CLS, QUESTION_ANS or "
                    "FEATURE_EXTRACTION");
  if (const Json* mapping = file.find("auto_mapping")) {
    if (!mapping->is_object()) file.fail_value("auto_mapping", "an object");
    for (const auto& [key, value] : mapping->items())
      if (value.is_string()) config.auto_mapping[key] = value.get<std::string>();
  }
  file.pass_over({"peft_version", "inference_mode", "runtime_config", "eva_config", "corda_config",
                  "lora_ga_config", "loftq_config", "megatron_core", "qalora_group_size"});
  config.unknown_keys = file.unknown_keys();
  return config;
}

std::string config_text(const Config& config) {
  nlohmann::json file;  // sorted by key
  for (const char* key : {"alora_invocation_tokens", "arrow_config", "corda_config", "eva_config",
                          "kasa_config", "layer_replication", "lora_ga_config", "megatron_config",
                          "monteclora_config", "use_bdlora", "velora_config"})
    file[key] = nullptr;
  for (const char* key : {"lora_bias", "use_dora", "use_qalora"}) file[key] = false;
  file["peft_type"] = "LORA";
  file["peft_version"] = peft_version;
  file["inference_mode"] = true;
  file["bias"] = "none";
  file["loftq_config"] = nlohmann::json::object();
  file["megatron_core"] = "megatron.core";
  file["qalora_group_size"] = 16;

  file["auto_mapping"] = config.auto_mapping.empty() ? nlohmann::json()
                                                     : nlohmann::json(config.auto_mapping);
  file["base_model_name_or_path"] = text_or_null(config.base_model);
  file["revision"] = text_or_null(config.revision);
  file["task_type"] = text_or_null(config.task_type);
  file["r"] = config.rank;
  file["lora_alpha"] = number_of(config.alpha);
  file["lora_dropout"] = config.dropout;
  file["use_rslora"] = config.rslora;
  file["target_modules"] = targets_of(config.targets);
  file["exclude_modules"] = config.exclude_modules ? targets_of(*config.exclude_modules)
                                                   : nlohmann::json();
  file["layers_to_transform"] = one_or_more(config.layers_to_transform);
  file["layers_pattern"] = one_or_more(config.layers_pattern);
  auto& ranks = file["rank_pattern"] = nlohmann::json::object();
  for (const auto& [pattern, rank] : config.rank_pattern) ranks[pattern] = rank;
  auto& alphas = file["alpha_pattern"] = nlohmann::json::object();
  for (const auto& [pattern, alpha] : config.alpha_pattern) alphas[pattern] = number_of(alpha);
  file["target_parameters"] = list_or_null(config.target_parameters);
  file["modules_to_save"] = list_or_null(config.modules_to_save);
  file["trainable_token_indices"] = tokens_of(config.trainable_tokens);
  file["ensure_weight_tying"] = config.ensure_weight_tying;
  file["fan_in_fan_out"] = config.fan_in_fan_out;
  if (const bool* drawn = std::get_if<bool>(&config.initial)) {
    file["init_lora_weights"] = *drawn;
  } else {
    file["init_lora_weights"] = std::get<std::string>(config.initial);
  }
  return file.dump(2, ' ', true);
}

}  // namespace trainx::adapter
