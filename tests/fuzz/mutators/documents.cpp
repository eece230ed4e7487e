// Mutators of files that are one JSON document, or one a line.
#include "fuzz/mutators/json.hpp"
#include "fuzz/mutators/mutators.hpp"
#include <algorithm>

namespace trainx::fuzz {
namespace {

std::string mutate_document(std::string_view input, std::string_view other, Words words,
                            Random& random) {
  auto document = parse_json(input);
  if (!document) return {};
  auto giver = parse_json(other);
  Json same = *document;
  mutate_json(*document, giver ? *giver : same, words, random);
  return text_of(*document);
}

constexpr std::string_view of_configs[] = {
    "model_type", "architectures", "vocab_size", "hidden_size", "num_hidden_layers",
    "num_attention_heads", "num_key_value_heads", "intermediate_size", "max_position_embeddings",
    "rms_norm_eps", "layer_norm_eps", "rope_theta", "rope_scaling", "rope_parameters", "rope_type",
    "factor", "head_dim", "tie_word_embeddings", "sliding_window", "layer_types", "attention_bias",
    "hidden_act", "activation_function", "gelu_new", "silu", "relu", "n_embd", "n_head", "n_layer",
    "n_positions", "num_labels", "id2label", "label2id", "problem_type", "torch_dtype", "dtype",
    "gpt2", "bert", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "olmo2",
    "t5", "bart", "roberta", "distilbert", "modernbert", "electra", "gpt_neox", "mixtral",
    "num_local_experts", "num_experts_per_tok", "d_model", "d_ff", "d_kv", "num_layers",
    "decoder_start_token_id", "pad_token_id", "eos_token_id", "type_vocab_size", "quantization_config",
    "full_attention", "sliding_attention", "linear", "dynamic", "yarn", "llama3", "default"};

constexpr std::string_view of_settings[] = {
    "learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs",
    "max_steps", "warmup_steps", "warmup_ratio", "lr_scheduler_type", "cosine", "linear", "constant",
    "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "bf16", "fp16",
    "optim", "adamw_torch", "adafactor", "deepspeed", "zero_optimization", "stage",
    "offload_optimizer", "offload_param", "device", "cpu", "nvme", "train_batch_size",
    "train_micro_batch_size_per_gpu", "optimizer", "scheduler", "type", "params", "AdamW", "lr",
    "betas", "WarmupLR", "WarmupDecayLR", "gradient_clipping", "auto", "fsdp", "save_steps",
    "eval_steps", "save_total_limit", "seed", "distributed_type", "mixed_precision", "num_processes"};

constexpr std::string_view of_tokenizers[] = {
    "model", "type", "BPE", "WordPiece", "Unigram", "WordLevel", "vocab", "merges", "unk_token",
    "unk_id", "byte_fallback", "fuse_unk", "ignore_merges", "dropout", "continuing_subword_prefix",
    "end_of_word_suffix", "max_input_chars_per_word", "normalizer", "pre_tokenizer",
    "post_processor", "decoder", "added_tokens", "id", "content", "special", "single_word",
    "lstrip", "rstrip", "normalized", "Sequence", "normalizers", "pretokenizers", "processors",
    "decoders", "ByteLevel", "add_prefix_space", "use_regex", "trim_offsets", "Metaspace",
    "replacement", "prepend_scheme", "always", "first", "never", "split", "Split", "pattern",
    "Regex", "String", "behavior", "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
    "Contiguous", "invert", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits",
    "individual_digits", "BertPreTokenizer", "BertNormalizer", "clean_text", "strip_accents",
    "lowercase", "handle_chinese_chars", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip",
    "strip_left", "strip_right", "StripAccents", "Replace", "Prepend", "prepend", "Precompiled",
    "precompiled_charsmap", "TemplateProcessing", "single", "pair", "special_tokens",
    "SpecialToken", "A", "B", "type_id", "ids", "tokens", "BertProcessing", "RobertaProcessing",
    "sep", "cls", "Fuse", "ByteFallback", "CTC", "BPEDecoder", "suffix", "start", "stop", "prefix",
    "cleanup", "\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+", "[^\\r\\n\\p{L}]?", "(?i:'s|'t)", "<0x41>",
    "<unk>", "[UNK]", "##a", "\u2581", "\u0120", "a b", "ab", "a", "b"};

constexpr std::string_view of_lines[] = {
    "input_ids", "labels", "label", "token_type_ids", "document_lengths", "attention_mask",
    "text", "-100", "0", "1"};

}  // namespace

std::string mutate_config(std::string_view input, std::string_view other, Random& random) {
  return mutate_document(input, other, of_configs, random);
}

std::string mutate_import(std::string_view input, std::string_view other, Random& random) {
  return mutate_document(input, other, of_settings, random);
}

std::string mutate_tokenizer(std::string_view input, std::string_view other, Random& random) {
  return mutate_document(input, other, of_tokenizers, random);
}

std::string mutate_jsonl(std::string_view input, std::string_view other, Random& random) {
  std::size_t begin = input.empty() ? 0 : input.rfind('\n', random.below(input.size()));
  begin = begin == std::string_view::npos ? 0 : begin + (begin < input.size() && input[begin] == '\n');
  const std::size_t end = std::min(input.find('\n', begin), input.size());
  const std::string line = mutate_document(input.substr(begin, end - begin),
                                           other.substr(0, other.find('\n')), of_lines, random);
  if (line.empty()) return {};
  std::string out(input.substr(0, begin));
  if (random.one_in(8)) out += std::string(input.substr(begin, end - begin)) + "\n";
  return out + line + std::string(input.substr(end));
}

}  // namespace trainx::fuzz
