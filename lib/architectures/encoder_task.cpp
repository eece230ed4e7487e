#include "architectures/encoder_task.hpp"
#include "core/error.hpp"

namespace trainx::architectures {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model.options." + sentence);
}

}  // namespace

void check_task(std::string_view name, Task task, bool has_labels,
                const std::vector<MaskingOption>& masking) {
  if (task == Task::causal_lm)
    refuse("task: a " + std::string(name) +
           " sees the tokens on both sides and cannot learn causal_lm; give masked_lm or "
           "classification, or model.type gpt2");
  const bool classification = task == Task::classification;
  if (classification && !has_labels)
    refuse("num_labels is missing: task classification needs the number of classes");
  if (!classification && has_labels)
    refuse(
        "num_labels can have no effect with task masked_lm: remove it, or write task: "
        "classification");
  for (const auto& [option, changed] : masking)
    if (classification && changed)
      refuse(std::string(option) + " can have no effect with task classification: remove it");
}

void check_mask_token(std::int64_t mask_token, std::int64_t vocab_size) {
  if (mask_token >= vocab_size)
    refuse("mask_token (" + std::to_string(mask_token) + ") must be below the vocabulary's " +
           std::to_string(vocab_size) + " tokens");
}

}  // namespace trainx::architectures
