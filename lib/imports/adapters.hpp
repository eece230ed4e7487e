// Adapters of other tools, most of which hand their settings on to PEFT's LoraConfig.
#pragma once
#include "imports/settings.hpp"
#include <optional>
#include <string>
#include <string_view>

namespace trainx::imports {

/// How a tool's file calls LoRA's settings. Empty: it has none.
struct AdapterKeys {
  std::string_view rank, alpha, dropout, rslora, dora, targets, parameters, saved, excluded, layers,
      rank_pattern, alpha_pattern, tokens = "", tying = "";
};

/// What a tool takes where its file is silent; nothing: trainx's own default is the same, or the
/// tool has none.
struct AdapterDefaults {
  std::string tool;  // "default of TRL"
  std::string rank, alpha, dropout;
};

/// What all linear layers are to a tool.
enum class AllLinear {
  of_peft,  // with experts and routers
  by_class  // modules of linear classes alone, not the stacked experts of mixtures
};

/// model.adapter of a file that trains LoRA, as `key` says; its targets are left to map_targets.
void map_lora(Settings& settings, std::string_view key, const AdapterKeys& keys,
              const AdapterDefaults& defaults);
/// Names of modules at `key`, a list or text that separates them by commas; `all` and all-linear
/// mean all linear layers. Without the key, the tool leaves them to PEFT, whose defaults the
/// model's type decides.
void map_targets(Settings& settings, std::string_view key, std::string_view all, AllLinear meaning);
/// All linear layers, as `key` says.
void map_all_linear(Settings& settings, std::string_view key, AllLinear meaning);
/// An adapter to go on from, whose folder says the rest.
void map_trained_adapter(Settings& settings, std::string_view key);
/// Base weights in `bits`, at `key`.
void map_quantized_base(Settings& settings, std::string_view key, int bits);
/// A list of names, as YAML; text is a list by commas.
std::string name_list(Settings& settings, std::string_view key);

/// Once the model is known: targets that were left to its type, and what of all linear layers
/// differs.
void finish_adapter(Draft& draft, const std::optional<std::string>& model_type);

/// PEFT's adapter_config.json, or a LoraConfig inside another file, at the key `within`.
void read_peft(Settings& settings, std::string_view within = "");

}  // namespace trainx::imports
