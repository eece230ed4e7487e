// adapter_config.json, as PEFT writes it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainx::adapter {

/// The release of PEFT whose rules are followed and whose files are written.
constexpr const char* peft_version = "0.21.2";

/// A list, or one value that stands alone where PEFT takes both; written as it was read.
template <class T>
struct OneOrMore {
  std::vector<T> values;
  bool is_list = true;
  bool operator==(const OneOrMore&) const = default;
};

/// Which modules are meant.
struct Targets {
  enum class Kind {
    of_model_type,  // none are said: those that PEFT has for the model's type
    all_linear,
    suffixes,   // each is a module's whole name, or its end after a dot
    expression  // one regular expression in Python's syntax, which matches whole names
  };
  Kind kind = Kind::of_model_type;
  std::vector<std::string> suffixes;
  std::string expression;
  bool operator==(const Targets&) const = default;
};

/// Tokens whose rows of embeddings and heads are trained by themselves.
struct TokenIndices {
  bool is_list = true;  // of the input embedding; else by ends of modules' names
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> of_modules;  // of a list one, ""
  bool operator==(const TokenIndices&) const = default;
};

/// What adapter_config.json says and trainx follows; defaults are LoraConfig's. A pattern's key is
/// a regular expression that matches the end of a module's name after a dot, and the first that
/// matches counts.
struct Config {
  std::int64_t rank = 8;
  double alpha = 8.0;
  double dropout = 0.0;
  bool rslora = false;  // scale is alpha / sqrt(rank) instead of alpha / rank
  Targets targets;
  std::optional<Targets> exclude_modules;  // suffixes or expression
  std::optional<OneOrMore<std::int64_t>> layers_to_transform;
  std::optional<OneOrMore<std::string>> layers_pattern;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;
  std::vector<std::pair<std::string, double>> alpha_pattern;
  std::optional<std::vector<std::string>> target_parameters;
  std::optional<std::vector<std::string>> modules_to_save;
  bool ensure_weight_tying = false;
  bool fan_in_fan_out = false;
  /// init_lora_weights: how new adapters are drawn. Of a finished adapter it has no effect, except
  /// for schemes that change the base's weights, which read_config refuses.
  std::variant<bool, std::string> initial = true;
  std::optional<std::string> base_model;  // base_model_name_or_path
  std::optional<std::string> revision;
  std::optional<std::string> task_type;
  std::map<std::string, std::string> auto_mapping;  // empty: null
  /// Keys of the file that this release of PEFT ignores with a warning.
  std::vector<std::string> unknown_keys;
  std::optional<TokenIndices> trainable_tokens;  // trainable_token_indices
};

/// Parses an adapter_config.json. Throws UserError 65, naming file and key: no JSON, no LoRA, a
/// value that PEFT refuses, or one that changes the arithmetic in a way that trainx does not have
/// (DoRA, biases, replicated layers, schemes of initial weights that change the base).
Config read_config(const std::string& text, const std::string& path);

/// The bytes that PEFT writes for these settings (save_pretrained): Chosen::written has them as
/// they are after targets were chosen. Its order of target_modules, which in PEFT is a set's, is
/// the one given, and a whole alpha is written without a point, as Python's int is.
std::string config_text(const Config& config);

}  // namespace trainx::adapter
