#include "imports/argument_dialect.hpp"
#include "core/number.hpp"
#include "imports/adapters.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "imports/run_length.hpp"

namespace trainx::imports {
namespace {

/// A LoraConfig that stands inside a file of arguments.
void read_inner_adapter(Settings& s) {
  for (const char* key : {"peft_config", "lora_config"}) {
    Settings inner = s.section(key);
    if (!inner.empty()) read_peft(inner, key);
  }
}

void map_bits(Settings& s) {
  for (const auto& [key, bits] : {std::pair{"load_in_4bit", 4}, {"load_in_8bit", 8}})
    if (s.flag(key).value_or(false)) map_quantized_base(s, key, bits);
}

void read_trl(Settings& s) {
  read_inner_adapter(s);
  if (s.flag("use_peft").value_or(false)) {
    map_lora(s, "use_peft",
             {.rank = "lora_r",
              .alpha = "lora_alpha",
              .dropout = "lora_dropout",
              .rslora = "use_rslora",
              .dora = "use_dora",
              .targets = "lora_target_modules",
              .parameters = "lora_target_parameters",
              .saved = "lora_modules_to_save"},
             {.tool = "default of TRL", .rank = "16", .alpha = "32", .dropout = "0.05"});
    map_targets(s, "lora_target_modules", "", AllLinear::of_peft);
  }
  map_bits(s);
  if (s.flag("activation_offloading").value_or(false))
    s.set("memory.activation_offload", "cpu", "activation_offloading");
}

void read_lora_of_llama_factory(Settings& s) {
  map_lora(s, "finetuning_type",
           {.rank = "lora_rank",
            .alpha = "lora_alpha",
            .dropout = "lora_dropout",
            .rslora = "use_rslora",
            .dora = "use_dora",
            .targets = "lora_target",
            .saved = "additional_target"},
           {.tool = "default of LLaMA-Factory", .rank = "8", .alpha = "", .dropout = "0"});
  if (s.has("lora_target"))
    map_targets(s, "lora_target", "all", AllLinear::by_class);
  else
    map_all_linear(s, "lora_target", AllLinear::by_class);
  if (s.flag("pissa_init").value_or(false))
    s.leave("pissa_init", std::string(reasons::no_variant), true);
  if (s.has("loraplus_lr_ratio"))
    s.leave("loraplus_lr_ratio", std::string(reasons::same_rates), true);
  if (s.flag("create_new_adapter").value_or(false) && s.has("adapter_name_or_path"))
    s.leave("adapter_name_or_path", "is merged into the model first: `trainx export --merge`",
            true);
  else
    map_trained_adapter(s, "adapter_name_or_path");
}

void read_llama_factory(Settings& s) {
  read_inner_adapter(s);
  const std::string written = s.word("finetuning_type"), type = written.empty() ? "lora" : written;
  if (type == "lora")
    read_lora_of_llama_factory(s);
  else if (type == "freeze")
    s.leave("finetuning_type", std::string(reasons::by_groups), true);
  else if (type != "full")
    s.leave("finetuning_type", std::string(reasons::no_such_adapter), true);
  const std::string stage = s.word("stage");
  if (!stage.empty() && stage != "sft" && stage != "pt")
    s.leave("stage", std::string(reasons::no_reinforcement), true);
  if (const auto bits = s.whole("quantization_bit"))
    map_quantized_base(s, "quantization_bit", static_cast<int>(*bits));
  if (s.flag("pure_bf16").value_or(false)) {
    s.set("precision.compute", "bf16", "pure_bf16");
    s.draft().remark("precision.compute", "for weights in bf16 alone add precision.master: none");
  }
  map_held_out(s, "val_size");
}

}  // namespace

void map_held_out(Settings& s, std::string_view key) {
  const double size = s.number(key).value_or(0);
  if (size < 0) s.refuse(key, "must not be negative");
  if (!(size > 0)) return;
  const std::string part = size < 1 ? shortest(tidy(100 * size)) + " %"
                                    : shortest(size) + " samples";
  if (has_key("data.held_out")) return s.set("data.held_out", part, key);
  s.leave(key, "trainx splits no file by this: name held-out data with --eval-data");
}

const ArgumentDialect& dialect_of(ArgumentsOf whose) {
  static const ArgumentDialect transformers{
      .name = "TrainingArguments",
      .default_of = "default of TrainingArguments",
      .learning_rate = "5e-5",
      .logging_steps = "500",
      .length_keys = {"block_size", "max_seq_length", "max_length"},
      .unmapped = training_arguments_unmapped(),
      .read_own = read_inner_adapter};
  static const ArgumentDialect trl{.name = "TRL",
                                   .default_of = "default of TRL",
                                   .learning_rate = "2e-5",
                                   .logging_steps = "10",
                                   .bf16 = true,
                                   .recomputes = true,
                                   .length_keys = {"max_length"},
                                   .length = "1024",
                                   .unmapped = trl_unmapped(),
                                   .read_own = read_trl};
  static const ArgumentDialect llama_factory{.name = "LLaMA-Factory",
                                             .default_of = "default of LLaMA-Factory",
                                             .learning_rate = "5e-5",
                                             .logging_steps = "500",
                                             .recomputes = true,
                                             .recomputes_not = "disable_gradient_checkpointing",
                                             .length_keys = {"cutoff_len"},
                                             .length = "2048",
                                             .unmapped = llama_factory_unmapped(),
                                             .read_own = read_llama_factory};
  return whose == ArgumentsOf::trl             ? trl
         : whose == ArgumentsOf::llama_factory ? llama_factory
                                               : transformers;
}

}  // namespace trainx::imports
