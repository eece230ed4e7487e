// Why a setting of another tool becomes nothing: sentences that more than one table needs.
// tests/unit/foreign/sentences_test.cpp checks every key, value, flag and command that they name.
#pragma once
#include <string_view>

namespace trainx::imports::reasons {

constexpr std::string_view no_compiler =
    "trainx has no compiler: on a GPU a step is captured as one CUDA graph (run.execution)";
constexpr std::string_view own_kernels = "trainx has its own kernels; `trainx plan` lists them";
constexpr std::string_view own_attention =
    "model.attention: auto chooses the fastest kernel; name another one there";
constexpr std::string_view no_uploads =
    "trainx uploads nothing; `trainx export` writes a Hugging Face folder";
constexpr std::string_view own_logs =
    "trainx logs to metrics.jsonl and the console, and with metrics.tensorboard: true to "
    "TensorBoard";
constexpr std::string_view own_metrics = "`trainx eval` reports loss, perplexity, accuracy and F1";
constexpr std::string_view labels_in_data =
    "trainx has no such switch: the data holds the labels, -100 for tokens without a loss";
constexpr std::string_view other_loss = "trainx has no such change of the loss";
constexpr std::string_view names_data =
    "trainx reads files, no data sets of other tools: name one with --data";
constexpr std::string_view names_model =
    "trainx downloads nothing: name a Hugging Face folder with --model";
constexpr std::string_view own_tokenizer = "trainx tokenizes beforehand: `trainx data tokenize`";
constexpr std::string_view planned_memory =
    "trainx allocates memory once, before training, and frees none in between";
constexpr std::string_view own_loader = "trainx loads data in threads that live as long as the run";
constexpr std::string_view resumes =
    "the same command resumes from the newest checkpoint, at the next sample";
constexpr std::string_view by_command =
    "trainx has commands for this: `trainx eval` and `trainx generate`";
constexpr std::string_view no_model_parallelism =
    "trainx has no pipeline parallelism; parallel.mode shards data and states, parallel.tensor "
    "divides layers, parallel.context rows, parallel.experts the experts of a mixture";
constexpr std::string_view no_sparse_attention =
    "trainx has no sparse attention; a model's config.json says which layers have windows";
constexpr std::string_view summed_by_block =
    "trainx sums gradients of a block as soon as backward has them: no buckets to size";
constexpr std::string_view other_devices = "trainx computes on NVIDIA GPUs and CPUs";
constexpr std::string_view starts_here = "trainx runs on the machine where it is started";
constexpr std::string_view own_checkpoints =
    "trainx writes its own checkpoints: section checkpoint of the recipe";
constexpr std::string_view any_ranks =
    "trainx keeps batch.global_batch_size and resumes on any number of ranks; --max-restarts "
    "restarts them";
constexpr std::string_view keyed_order = "run.seed decides the order of samples";
constexpr std::string_view eval_batches = "evaluation uses the micro-batches of training";
constexpr std::string_view eval_starts = "trainx evaluates first after eval.every";
constexpr std::string_view no_such_adapter =
    "trainx has LoRA alone: without it this recipe is a full fine-tuning";
constexpr std::string_view no_dora = "trainx has no DoRA: with model.adapter this is plain LoRA";
constexpr std::string_view no_variant = "trainx has no such variant of LoRA";
constexpr std::string_view of_adapter = "belongs to an adapter that is not mapped";
constexpr std::string_view fills_templates =
    "trainx fills in templates before training: `trainx data tokenize --messages`";
constexpr std::string_view no_quantized_weights =
    "trainx trains weights in 16 or 32 bits; none are quantized";
constexpr std::string_view no_reinforcement =
    "trainx trains on the next token, masked tokens or classes; it has no preference or reward "
    "losses";
constexpr std::string_view same_rates =
    "write a map of match and lr for each pattern into optimizer.groups";
constexpr std::string_view all_weights =
    "trainx freezes what optimizer.groups says, for the whole run";
constexpr std::string_view by_groups =
    "write a map of match and freeze, lr or weight_decay for each pattern into optimizer.groups";
constexpr std::string_view packs_beforehand =
    "trainx packs beforehand: `trainx data pack`, then data.packed: true";
constexpr std::string_view no_paging =
    "trainx does not page optimizer states; memory.optimizer_offload.where: cpu keeps them on the "
    "host";
constexpr std::string_view own_8bit_format = "trainx has its own 8-bit format, not torchao's";
constexpr std::string_view precisions = "precision.compute is fp32, tf32, bf16 or fp16";

}  // namespace trainx::imports::reasons
