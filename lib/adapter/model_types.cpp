#include "adapter/model_types.hpp"
#include <algorithm>
#include <iterator>
#include <utility>

namespace trainx::adapter {
namespace {

// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of peft/utils/constants.py; names separated by
// a space.
constexpr std::pair<std::string_view, std::string_view> default_targets[] = {
    {"bart", "q_proj v_proj"},
    {"bert", "query value"},
    {"blip-2", "q v q_proj v_proj"},
    {"bloom", "query_key_value"},
    {"btlm", "c_proj c_attn"},
    {"chatglm", "query_key_value"},
    {"codegen", "qkv_proj"},
    {"deberta", "in_proj"},
    {"deberta-v2", "query_proj value_proj"},
    {"electra", "query value"},
    {"falcon", "query_key_value"},
    {"gemma", "q_proj v_proj"},
    {"gemma2", "q_proj v_proj"},
    {"gemma3_text", "q_proj v_proj"},
    {"gpt2", "c_attn"},
    {"gpt_bigcode", "c_attn"},
    {"gpt_neo", "q_proj v_proj"},
    {"gpt_neox", "query_key_value"},
    {"gptj", "q_proj v_proj"},
    {"layoutlm", "query value"},
    {"llama", "q_proj v_proj"},
    {"llama4", "q_proj v_proj"},
    {"mistral", "q_proj v_proj"},
    {"mixtral", "q_proj v_proj"},
    {"mpt", "Wqkv"},
    {"mt5", "q v"},
    {"nemotron_h", "q_proj k_proj v_proj o_proj"},
    {"opt", "q_proj v_proj"},
    {"phi", "q_proj v_proj fc1 fc2"},
    {"qwen2", "q_proj v_proj"},
    {"qwen3", "q_proj v_proj"},
    {"RefinedWeb", "query_key_value"},
    {"RefinedWebModel", "query_key_value"},
    {"roberta", "query value"},
    {"rwkv", "key value receptance output"},
    {"rwkv7", "r_proj k_proj v_proj o_proj key value"},
    {"stablelm", "q_proj v_proj"},
    {"t5", "q v"},
    {"xlm-roberta", "query value"},
};

constexpr ExpertNames mixtral_names{.gate = "w1", .up = "w3", .down = "w2"};
constexpr ExpertNames qwen_names{.gate = "gate_proj", .up = "up_proj", .down = "down_proj"};

// _MODEL_TO_CONVERSION_PATTERN of transformers/conversion_mapping.py, with what PEFT adds to it.
constexpr std::string_view mixtral_like[] = {"minimax", "minimax_m2", "mixtral"};
constexpr std::string_view qwen_like[] = {"afmoe",
                                          "beam",
                                          "cohere2_moe",
                                          "deepseek_v2",
                                          "deepseek_v3",
                                          "deepseek_v32",
                                          "dots1",
                                          "ernie4_5_moe",
                                          "exaone_moe",
                                          "flex_olmo",
                                          "glm4_moe",
                                          "glm4_moe_lite",
                                          "glm4v_moe",
                                          "glm_moe_dsa",
                                          "hunyuan_v1_moe",
                                          "longcat_flash",
                                          "mellum",
                                          "olmoe",
                                          "qwen3_moe",
                                          "qwen3_next",
                                          "qwen3_omni_moe",
                                          "qwen3_omni_moe_text",
                                          "qwen3_omni_moe_thinker",
                                          "solar_open"};

}  // namespace

std::optional<Targets> targets_of_model_type(std::string_view model_type) {
  const auto found = std::ranges::find(default_targets, model_type,
                                       &std::pair<std::string_view, std::string_view>::first);
  if (found == std::end(default_targets)) return std::nullopt;
  Targets targets{.kind = Targets::Kind::suffixes, .suffixes = {}, .expression = {}};
  for (std::string_view rest = found->second; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    targets.suffixes.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return targets;
}

std::optional<ExpertNames> old_expert_names(std::string_view model_type) {
  if (std::ranges::find(mixtral_like, model_type) != std::end(mixtral_like)) return mixtral_names;
  if (std::ranges::find(qwen_like, model_type) != std::end(qwen_like)) return qwen_names;
  return std::nullopt;
}

}  // namespace trainx::adapter
