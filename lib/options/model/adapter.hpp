// model.adapter: what is trained instead of the model's own weights.
#pragma once
#include "options/field.hpp"
#include "options/name_list.hpp"
#include "options/numbers_by_name.hpp"
#include "options/tokens_by_name.hpp"
#include <optional>
#include <string>

namespace trainx::options {

enum class AdapterType : std::uint8_t { none, lora };
inline const EnumNames<AdapterType>& enum_names(AdapterType) {
  static const EnumNames<AdapterType> names{{AdapterType::none, "none"},
                                            {AdapterType::lora, "lora"}};
  return names;
}

/// Settings of adapters of low rank, with PEFT's meanings. What is not set comes from init_from's
/// adapter_config.json, where it is given.
struct AdapterOptions {
  AdapterType type = AdapterType::none;
  std::optional<std::int64_t> rank;
  std::optional<double> alpha, dropout;
  std::optional<bool> rslora;
  std::optional<NameList> targets, exclude, modules_to_save, target_parameters;
  std::optional<NumbersByName> rank_pattern, alpha_pattern;
  std::optional<std::vector<std::int64_t>> layers;
  std::optional<std::string> init_from;
  std::optional<TokensByName> trainable_token_indices;
  std::optional<bool> ensure_weight_tying;
  bool operator==(const AdapterOptions&) const = default;
};

constexpr std::int64_t default_adapter_rank = 16;

template <class Visitor>
void visit_fields(Visitor& field, AdapterOptions& o) {
  field("type", o.type, anything(),
        "What is trained instead of the model's own weights. lora: matrices of low rank beside its "
        "linear layers, in PEFT's format");
  field("rank", o.rank, between(1, 1 << 16),
        "Rank of the matrices; null: 16, or that of the folder `init_from`");
  field("alpha", o.alpha, positive(),
        "What adapters add is scaled by alpha / rank; null: twice the rank, or as the folder says");
  field("dropout", o.dropout, unit_interval(),
        "Dropout of what adapters read; null: 0, or as the folder says");
  field("rslora", o.rslora, anything(),
        "Scale by alpha / sqrt(rank) instead; null: false, or as the folder says");
  field("targets", o.targets, anything(),
        "Modules that get an adapter. all_linear: all linear layers but the head; a list: ends of "
        "their names, as PEFT's target_modules; another text: a regular expression of whole names; "
        "null: all_linear, or as the folder says");
  field("exclude", o.exclude, anything(), "Modules among these that get none, written alike");
  field("layers", o.layers, non_negative(), "Layers whose modules get one; null: all");
  field("rank_pattern", o.rank_pattern, between(1, 1 << 16),
        "Other ranks, by expressions of the ends of names: {down_proj: 8}");
  field("alpha_pattern", o.alpha_pattern, positive(), "Other alphas, likewise");
  field("target_parameters", o.target_parameters, anything(),
        "Stacked experts that get adapters: [mlp.experts.gate_up_proj, mlp.experts.down_proj]");
  field("modules_to_save", o.modules_to_save, anything(),
        "Modules that are trained whole beside adapters: [lm_head, embed_tokens]");
  field("trainable_token_indices", o.trainable_token_indices, non_negative(),
        "Tokens whose rows of the embedding are trained by themselves: [5, 6], or by module "
        "{embed_tokens: [5, 6], lm_head: [7]}. A tied head has the embedding's rows");
  field("ensure_weight_tying", o.ensure_weight_tying, anything(),
        "Train an embedding of modules_to_save and the head that is tied to it as one weight; "
        "null: false, or as the folder says");
  field("init_from", o.init_from, anything(),
        "Folder of an adapter to go on from (adapter_config.json, adapter_model.safetensors)");
}

}  // namespace trainx::options
