// What TrainingArguments and Axolotl, which hands its settings on to transformers' Trainer, spell
// in the same way.
#pragma once
#include "core/units.hpp"
#include "imports/settings.hpp"

namespace trainx::imports {

/// The folder of outputs: its parent becomes run.output_dir, its own name run.name.
void map_output_dir(Settings& settings);
/// `optim_args`, "momentum=0.9,nesterov=True" or a map, for optimizer `type`; empty: none is
/// chosen.
void map_optimizer_arguments(Settings& settings, const std::string& type);
/// The mapped optimizer `theirs` in 8 bits keeps moments of embeddings in fp32, as the Trainer
/// does.
void map_embeddings(Settings& settings, std::string_view key, std::string_view theirs);
/// The names of logging services at `key`.
void map_trackers(Settings& settings, std::string_view key);
/// `metric_for_best_model` and `greater_is_better`.
void map_best_metric(Settings& settings);
/// `ddp_timeout`, in seconds.
void map_timeout(Settings& settings);
/// `deepspeed`: a file's name or its contents.
void map_deepspeed(Settings& settings, bool has_deepspeed_file);
/// TF32 beside 16 bits, which trainx does not combine.
void leave_tf32(Settings& settings, const std::string& compute);
void map_workers(Settings& settings);
/// "no", "steps", "epoch" or "best", at `key` or under the name that it had before.
std::string strategy(Settings& settings, std::string_view key, std::string_view old_key,
                     const std::string& otherwise);
/// `steps` of a run of `length`: so many, or a share of the run if less than 1.
Duration interval(Settings& settings, std::string_view key, double steps, const Duration& length);

}  // namespace trainx::imports
