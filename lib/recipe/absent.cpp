#include "recipe/absent.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

constexpr std::string_view adapters =
    "adapters are described under model.adapter: {type: lora, rank: 16}";
constexpr std::string_view quantized = "trainx has no quantized weights: it trains all of them";
constexpr std::string_view trackers =
    "trainx sends metrics to no service: wandb and MLflow import its metrics.csv, and TensorBoard "
    "reads what metrics.tensorboard: true writes";
constexpr std::string_view uploads =
    "trainx uploads nothing: `trainx export` writes a Hugging Face folder";
constexpr std::string_view compiled =
    "trainx needs no compiler switch: each step is a planned program";
constexpr std::string_view chats =
    "the tokenizer's own template is applied to lines with `messages` when data is tokenized";
constexpr std::string_view preferences = "trainx has no training on preferences or rewards";

struct Absent {
  std::string_view key, what;
};
constexpr Absent absent[]{
    {"adapters", adapters},
    {"lora", adapters},
    {"qlora", adapters},
    {"peft", adapters},
    {"lora_r", adapters},
    {"lora_rank", adapters},
    {"lora_alpha", adapters},
    {"lora_dropout", adapters},
    {"lora_target_modules", adapters},
    {"target_modules", adapters},
    {"quantization", quantized},
    {"quantization_config", quantized},
    {"load_in_4bit", quantized},
    {"load_in_8bit", quantized},
    {"bnb_4bit_compute_dtype", quantized},
    {"wandb", trackers},
    {"wandb_project", trackers},
    {"mlflow", trackers},
    {"comet", trackers},
    {"neptune", trackers},
    {"clearml", trackers},
    {"trackio", trackers},
    {"push_to_hub", uploads},
    {"hub_model_id", uploads},
    {"hub_token", uploads},
    {"compile", compiled},
    {"torch_compile", compiled},
    {"torchdynamo", compiled},
    {"chat_template", chats},
    {"dpo", preferences},
    {"rl", preferences},
    {"reward_model", preferences},
};

}  // namespace

std::optional<std::string_view> absent_feature(std::string_view key) {
  const auto* found = std::ranges::find(absent, key, &Absent::key);
  if (found == std::ranges::end(absent)) return std::nullopt;
  return found->what;
}

}  // namespace trainx::recipe
