// A file of each tool, into the draft.
#pragma once
#include "imports/settings.hpp"
#include <cstdint>

namespace trainx::imports {

/// TrainingArguments, and what TRL and LLaMA-Factory add to them, with other defaults.
enum class ArgumentsOf : std::uint8_t { transformers, trl, llama_factory };
/// `has_deepspeed_file`: another of the files is DeepSpeed's.
void read_training_arguments(Settings& settings, ArgumentsOf whose, bool has_deepspeed_file);
void read_deepspeed(Settings& settings);
void read_accelerate(Settings& settings, bool has_deepspeed_file);
void read_axolotl(Settings& settings, bool has_deepspeed_file);
void read_torchtune(Settings& settings);

/// FSDP: the words at `key` ("full_shard auto_wrap", or a list), and the map fsdp_config, which
/// acts if `key` names a strategy or `is_on`. Hybrid strategies shard among `ranks_of_node`, if
/// known.
void map_fsdp(Settings& settings, std::string_view key, bool is_on,
              std::optional<std::int64_t> ranks_of_node = std::nullopt);

/// ZeRO's stages, for DeepSpeed's and Accelerate's spelling of them.
void map_zero_stage(Settings& settings, std::string_view key);
/// Whether that was said before.
bool has_stage_3(Settings& settings);
/// The device of offload, and the folder where that is a disk, which is that of all that is on it;
/// `recipe_key`: memory.optimizer_offload or memory.parameter_offload.
void map_offload(Settings& settings, std::string_view key, std::string_view folder_key,
                 const std::string& recipe_key);
/// The part of the optimizer that does not stay on the GPU.
void map_offload_ratio(Settings& settings, std::string_view key);
/// precision.compute: fp32, fp16, bf16, tf32; bf16 for fp16 where this trainx has none.
void map_precision(Settings& settings, const std::string& compute, std::string_view key,
                   std::string_view defaults);
/// `betas`, a list of two numbers, or of "auto".
void map_betas(Settings& settings, std::string_view key);
/// num_processes and its like.
void map_world(Settings& settings, std::string_view key);

}  // namespace trainx::imports
