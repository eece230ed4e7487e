#include "imports/optimizers.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

constexpr std::string_view no_galore = "low-rank projections of gradients";
constexpr std::string_view schedule_free = "averages of weights in place of a schedule";

constexpr OptimizerName transformers_names[]{
    {"adamw_torch", "adamw", true, true, ""},
    {"adamw_torch_fused", "adamw", true, true, ""},
    {"adamw_torch_xla", "adamw", true, true, ""},
    {"adamw_torch_npu_fused", "adamw", true, true, ""},
    {"adamw_apex_fused", "adamw", true, true, ""},
    {"adamw_hf", "adamw", true, true, ""},
    {"paged_adamw", "adamw", true, true, reasons::no_paging},
    {"paged_adamw_32bit", "adamw", true, true, reasons::no_paging},
    {"adamw_anyprecision", "adamw_anyprecision", true, true, ""},
    {"adamw_bnb_8bit", "adamw_8bit", true, true, ""},
    {"adamw_8bit", "adamw_8bit", true, true, ""},
    {"paged_adamw_8bit", "adamw_8bit", true, true, reasons::no_paging},
    {"adamw_torch_8bit", "adamw_8bit", true, true, reasons::own_8bit_format},
    {"adamw_torch_4bit", "", false, false, "states of 4 bits"},
    {"adafactor", "adafactor", false, false, ""},
    {"adagrad", "adagrad", false, false, ""},
    {"sgd", "sgd", false, false, ""},
    {"rmsprop", "rmsprop", false, false, ""},
    {"lion_32bit", "lion", true, false, ""},
    {"paged_lion_32bit", "lion", true, false, reasons::no_paging},
    {"lion_8bit", "", false, false, "momentum of 8 bits"},
    {"paged_lion_8bit", "", false, false, "momentum of 8 bits"},
    {"ademamix", "ademamix", true, true, ""},
    {"ademamix_8bit", "", false, false, "AdEMAMix with states of 8 bits"},
    {"paged_ademamix_32bit", "ademamix", true, true, reasons::no_paging},
    {"paged_ademamix_8bit", "", false, false, "AdEMAMix with states of 8 bits"},
    {"rmsprop_bnb", "rmsprop", false, false, ""},
    {"rmsprop_bnb_32bit", "rmsprop", false, false, ""},
    {"rmsprop_bnb_8bit", "", false, false, "RMSProp with states of 8 bits"},
    {"galore_adamw", "", false, false, no_galore},
    {"galore_adamw_8bit", "", false, false, no_galore},
    {"galore_adafactor", "", false, false, no_galore},
    {"galore_adamw_layerwise", "", false, false, no_galore},
    {"galore_adamw_8bit_layerwise", "", false, false, no_galore},
    {"galore_adafactor_layerwise", "", false, false, no_galore},
    {"apollo_adamw", "", false, false, no_galore},
    {"apollo_adamw_layerwise", "", false, false, no_galore},
    {"lomo", "", false, false, "an update inside backward"},
    {"adalomo", "", false, false, "an update inside backward"},
    {"grokadamw", "", false, false, "a filter over gradients"},
    {"schedule_free_radam", "", false, false, schedule_free},
    {"schedule_free_adamw", "", false, false, schedule_free},
    {"schedule_free_sgd", "", false, false, schedule_free},
    {"stable_adamw", "", false, false, "AdamW that clips each update"},
};

// DeepSpeed's Adam decouples weight decay unless adam_w_mode says otherwise.
constexpr OptimizerName deepspeed_names[]{
    {"adam", "adamw", true, true, ""},
    {"adamw", "adamw", true, true, ""},
    {"cpuadam", "adamw", true, true,
     "the GPU updates; memory.optimizer_offload.where: cpu lets the CPU do it"},
    {"sgd", "sgd", false, false, ""},
    {"adagrad", "adagrad", false, true, ""},
    {"lamb", "lamb", true, true, ""},
    {"lion", "lion", true, false, ""},
    {"onebitadam", "", false, false, "gradients of one bit between ranks"},
    {"zerooneadam", "", false, false, "gradients of one bit between ranks"},
    {"onebitlamb", "", false, false, "gradients of one bit between ranks"},
    {"muadam", "", false, false, "learning rates by width"},
    {"muadamw", "", false, false, "learning rates by width"},
    {"musgd", "", false, false, "learning rates by width"},
    {"muon", "", false, false, "orthogonal updates"},
};

template <class Table>
const OptimizerName* find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &OptimizerName::theirs);
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

const OptimizerName* find_transformers_optimizer(std::string_view name) {
  return find(transformers_names, name);
}

const OptimizerName* find_deepspeed_optimizer(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return find(deepspeed_names, lower);
}

bool map_optimizer(Settings& settings, std::string_view key, const OptimizerName* name,
                   std::string_view defaults) {
  const std::string there = recipe::joined(optimizer_names(), " | ");
  if (name && has_optimizer(name->ours)) {
    settings.set("optimizer.type", std::string(name->ours), key, defaults);
    if (!name->remark.empty()) settings.leave(key, std::string(name->remark));
    return true;
  }
  const std::string what =
      !name ? "is no optimizer that trainx knows"
            : "trainx has no such optimizer" +
                  (name->remark.empty() ? "" : " (" + std::string(name->remark) + ")");
  settings.leave(key, what + ": " + there);
  settings.draft().ask("optimizer.type", there);
  return false;
}

}  // namespace trainx::imports
