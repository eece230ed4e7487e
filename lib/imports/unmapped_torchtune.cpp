#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr Unmapped torchtune_table[]{
    {"model.lora_*", "", of_adapter},
    {"model.apply_lora_*", "false", of_adapter},
    {"model.quantize_base", "false", no_quantized_weights},
    {"model.use_dora", "false", of_adapter},
    {"model.*", "", "model.options of the recipe holds the dimensions of a model"},
    {"tokenizer.path", "", own_tokenizer},
    {"tokenizer.merges_file", "", own_tokenizer},
    {"tokenizer.prompt_template", "",
     "trainx fills in templates before training: `trainx data tokenize --messages`", true},
    {"tokenizer.*", "", own_tokenizer},
    {"dataset.packed", "false", packs_beforehand},
    {"dataset.train_on_input", "false", labels_in_data},
    {"dataset.source", "", names_data},
    {"dataset.split", "*", ""},
    {"dataset.data_files", "", names_data},
    {"dataset.*", "", names_data},
    {"dataset_val.packed", "*", ""},
    {"dataset_val.*", "",
     "trainx reads files, no data sets of other tools: name one with --eval-data"},
    {"batch_size_val", "", eval_batches},
    {"max_validation_samples", "", "eval.batches bounds an evaluation"},
    {"checkpointer.checkpoint_files", "*", ""},
    {"checkpointer.checkpoint_dir", "", names_model},
    {"checkpointer.adapter_checkpoint", "", of_adapter},
    {"checkpointer.recipe_checkpoint", "", resumes},
    {"checkpointer.output_dir", "*", ""},
    {"checkpointer.model_type", "*", ""},
    {"checkpointer.*", "*", own_checkpoints},
    {"resume_from_checkpoint", "false", resumes},
    {"save_adapter_weights_only", "*", ""},
    {"optimizer.fused", "*", ""},
    {"optimizer.foreach", "*", ""},
    {"optimizer.bias_correction", "true", "trainx always corrects the bias"},
    {"optimizer.amsgrad", "false", "trainx has no AMSGrad", true},
    {"lr_scheduler.last_epoch", "*", ""},
    {"loss.num_output_chunks", "*", ""},
    {"loss.ignore_index", "-100", "labels of -100 have no loss"},
    {"compile*", "false", no_compiler},
    {"log_peak_memory_stats", "*", ""},
    {"log_level", "info", "trainx has -q and -v"},
    {"metric_logger.log_dir", "*", ""},
    {"metric_logger.*", "*", ""},  // act with the logger
    {"profiler.enabled", "false", "`trainx train --profile N` shows where time goes"},
    {"profiler.*", "*", ""},
    {"device", "cuda", other_devices},
    {"cudnn_deterministic_mode", "", "run.deterministic: true makes repeats bit-equal"},
    {"ac_mode", "full", "memory.activation_checkpoint is none, selective, mlp or full"},
    {"ac_option", "", "memory.activation_checkpoint is none, selective, mlp or full"},
    {"custom_sharded_layers", "*", ""},
    {"memory_efficient_fsdp_wrap", "*", ""},
    {"tensor_parallel_*", "1", no_model_parallelism},
    {"context_parallel_*", "1", no_model_parallelism},
    {"expert_parallel_*", "1", no_model_parallelism},
    {"data_parallel_shard_dim", "-1",
     "parallel.shard_ranks is the number of ranks that share all shards"},
    {"data_parallel_replicate_dim", "1",
     "parallel.shard_ranks is the number of ranks that share all shards"},
    {"quantizer*", "", no_quantized_weights, true},
    {"fake_quant_after_n_steps", "", no_quantized_weights},
    {"inference", "*", by_command},
    {"my_system_prompt", "*", ""},
};

}  // namespace

std::span<const Unmapped> torchtune_unmapped() { return torchtune_table; }

}  // namespace trainx::imports
