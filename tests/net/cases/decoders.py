"""Decoders: a family for each form of attention, norm, MLP and head that the layers have."""

from .base import BF16, FP16, STORIES, case, jsonl, ranks

SIZES = (
    "num_layers: 2, num_heads: 4, num_key_value_heads: 2, hidden_size: 32, "
    "intermediate_size: 48, max_positions: 32"
)
ALL_HEADS = SIZES.replace("num_key_value_heads: 2, ", "")
FULL = "memory.activation_checkpoint=full"


def family(name, sizes=SIZES, more="", data=STORIES):
    return (f"{{type: {name}, options: {{{sizes}{more}}}}}", data)


FORMS = {
    "llama": case(family("llama")),
    "llama, bf16": case(family("llama"), BF16),
    "llama, fp16, recomputed": case(family("llama"), FP16, FULL),
    "llama, selective": case(family("llama"), BF16, "memory.activation_checkpoint=selective"),
    "llama, recomputed: mlp": case(family("llama"), "memory.activation_checkpoint=mlp"),
    "llama, heads of 12": case(family("llama", more="")),
    "llama, dropout": case(family("llama", more=", dropout: 0.1, attention_dropout: 0.1"), BF16),
    "llama, packed": case(
        family("llama", data=jsonl("packed", more=", packed: true"), more=", vocab_size: 200"), BF16
    ),
    "llama, activations on the host": case(
        family("llama"), BF16, "model.options.num_layers=4", "memory.activation_offload=cpu"
    ),
    "mistral: a window": case(family("mistral"), BF16),
    "qwen2: biases": case(family("qwen2"), BF16),
    "qwen3: norms of heads": case(family("qwen3"), BF16),
    "gemma: scaled embeddings": case(family("gemma")),
    "gemma2: caps, norms around": case(family("gemma2"), BF16),
    "gemma3: two kinds of layers": case(
        family("gemma3_text", SIZES.replace("num_layers: 2", "num_layers: 6"))
    ),
    "phi: side by side": case(family("phi"), BF16),
    "phi3: fused products": case(family("phi3"), BF16),
    "gpt_neox: turned in part": case(family("gpt_neox", ALL_HEADS), BF16),
    "bloom: ALiBi": case(
        family("bloom", "num_layers: 2, num_heads: 4, hidden_size: 32, " "max_positions: 32")
    ),
    "opt: learned positions, ReLU": case(family("opt", ALL_HEADS), BF16),
    "olmo: norms without weights": case(family("olmo")),
    "olmo2: norms behind, whole heads": case(family("olmo2"), BF16),
    "cohere: scaled logits": case(family("cohere"), BF16),
    "glm4: neighbours turn": case(family("glm4")),
    "granite: scalars": case(family("granite"), BF16),
    "granite_swa: sinks": case(family("granite_swa"), BF16),
    "stablelm: LayerNorm": case(family("stablelm", ALL_HEADS), BF16),
    "nemotron: squared ReLU": case(family("nemotron"), BF16),
    "nanochat: no weights, capped logits": case(family("nanochat"), BF16),
    "exaone4: no positions in some": case(
        family("exaone4", SIZES.replace("num_layers: 2", "num_layers: 4"))
    ),
    "youtu: latent attention": case(family("youtu", ALL_HEADS)),
    "minicpm3: latent, scaled": case(family("minicpm3", ALL_HEADS), BF16),
    "deepseek_v2: latent, no rank of queries": case(family("deepseek_v2", ALL_HEADS), BF16),
}

RANKS = {
    "llama, ddp": case(family("llama"), *ranks("ddp", 2), BF16),
    "llama, zero1": case(family("llama"), *ranks("zero1", 2), BF16),
    "llama, zero3": case(family("llama"), *ranks("zero3", 2), FULL),
    "llama, zero3 of 4": case(family("llama"), *ranks("zero3", 4), BF16),
    "llama, dp": case(family("llama"), *ranks("dp", 2), ranks=(0, 1)),
    "qwen3, zero2, optimizer on the host": case(
        family("qwen3"), *ranks("zero2", 2), BF16, "memory.optimizer_offload.where=cpu"
    ),
    "gemma2, zero3, weights on the host": case(
        family("gemma2"), *ranks("zero3", 2), "memory.parameter_offload=cpu"
    ),
}

CASES = FORMS | RANKS
