"""Ranks that share a batch and have parts of each layer."""

from .adapters import lora
from .base import BF16, FP16, STORIES, case, ranks
from .decoders import ALL_HEADS, FULL, family
from .encoders import WIDE, encoder, labels, seq2seq, tags
from .gpt2 import IN_BACKWARD, OPTIMIZERS
from .mixtures import mixture, switch

GPT2 = (
    "{type: gpt2, options: {num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32, "
    "dropout: 0.1}}",
    STORIES,
)
LAMB = "optimizer={type: lamb, lr: 1e-2}"
ADAFACTOR = "optimizer=" + OPTIMIZERS["adafactor"]
BYTES = "optimizer=" + OPTIMIZERS["adamw_8bit"]


def parts(mode, world, tensor, micro=4):
    return ranks(mode, world, micro, f", tensor: {tensor}")


CASES = {
    "llama, parts of 2 ranks": case(family("llama"), *parts("ddp", 2, 2)),
    "llama, parts of 2 ranks, bf16, recomputed": case(
        family("llama"), *parts("ddp", 2, 2), BF16, FULL
    ),
    "olmo2, parts, norms of all queries": case(
        family("olmo2", ALL_HEADS), *parts("ddp", 2, 2), BF16
    ),
    "llama, parts of 2 ranks, selective": case(
        family("llama"), *parts("ddp", 2, 2), BF16, "memory.activation_checkpoint=selective"
    ),
    "llama, parts of 2 of 4 ranks": case(family("llama"), *parts("ddp", 4, 2), FP16),
    "llama, parts of 2 of 4 ranks, zero1": case(family("llama"), *parts("zero1", 4, 2), BF16),
    "llama, parts of 2 of 4 ranks, zero2": case(family("llama"), *parts("zero2", 4, 2)),
    "llama, parts of 2 of 4 ranks, zero3": case(family("llama"), *parts("zero3", 4, 2), BF16),
    "llama, parts, updates in backward": case(
        family("llama"), *parts("ddp", 2, 2, 8), IN_BACKWARD
    ),
    "llama, parts, lamb": case(family("llama"), *parts("ddp", 2, 2), LAMB),
    "llama, parts, adafactor": case(family("llama"), *parts("ddp", 2, 2), BF16, ADAFACTOR),
    "gpt2, parts of 2 of 4 ranks, zero3, adafactor": case(
        GPT2, *parts("zero3", 4, 2), ADAFACTOR
    ),
    "gpt_oss, parts of stacked experts, adafactor in backward": case(
        family("gpt_oss"), *parts("ddp", 2, 2, 8), IN_BACKWARD, optimizer=OPTIMIZERS["adafactor"]
    ),
    "llama, parts, adamw_8bit": case(family("llama"), *parts("ddp", 2, 2), BYTES),
    "gpt2, parts of 2 of 4 ranks, zero2, adamw_8bit": case(GPT2, *parts("zero2", 4, 2), BF16, BYTES),
    "llama, parts, optimizer on the host": case(
        family("llama"), *parts("ddp", 2, 2), BF16, "memory.optimizer_offload.where=cpu"
    ),
    "gpt2, parts of a packed tensor and of an odd vocabulary, dropout": case(
        GPT2, *parts("ddp", 2, 2)
    ),
    "gpt2, parts of 4 ranks": case(GPT2, *parts("ddp", 4, 4)),
    "gpt_neox, parts of heads that files mix": case(
        family("gpt_neox", ALL_HEADS), *parts("ddp", 2, 2), BF16
    ),
    "phi, parts side by side": case(family("phi"), *parts("ddp", 2, 2)),
    "phi3, parts of unequal sections": case(family("phi3"), *parts("ddp", 2, 2), BF16),
    "exaone4, parts, norms behind": case(family("exaone4"), *parts("ddp", 2, 2)),
    "gemma2, parts, soft caps": case(family("gemma2"), *parts("ddp", 2, 2), BF16),
    "granite_swa, parts, sinks": case(family("granite_swa"), *parts("ddp", 2, 2)),
    "bloom, parts, ALiBi": case(
        family("bloom", "num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32"),
        *parts("ddp", 2, 2),
    ),
    "youtu, parts, latent attention": case(family("youtu", ALL_HEADS), *parts("ddp", 2, 2)),
    "t5, parts": case(seq2seq("t5", WIDE), *parts("ddp", 2, 2)),
    "bart, parts of 2 of 4 ranks, zero3": case(seq2seq("bart"), *parts("zero3", 4, 2), BF16),
    "modernbert, parts": case(encoder("modernbert"), *parts("ddp", 2, 2)),
    "llama, parts, adapters": case(family("llama"), *parts("ddp", 2, 2), BF16, lora()),
    "llama, parts of 2 of 4 ranks, zero3, adapters of some, recomputed": case(
        family("llama"),
        *parts("zero3", 4, 2),
        lora(", targets: [q_proj, v_proj, up_proj], dropout: 0.1"),
        FULL,
    ),
    "llama, parts of 4 ranks, adapters of shared heads": case(
        family("llama"), *parts("ddp", 4, 4), lora()
    ),
    "phi, parts side by side, adapters": case(family("phi"), *parts("ddp", 2, 2), lora()),
    "gpt2, parts of a packed tensor, adapters of an embedding and its tied head": case(
        GPT2, *parts("ddp", 2, 2), lora(", targets: [wte, lm_head, c_attn]")
    ),
    "llama, parts, adapters that drop of whole rows and of parts": case(
        family("llama"), *parts("ddp", 2, 2), BF16, lora(", dropout: 0.1")
    ),
    "mixtral, parts of 2 of 4 ranks, zero3, adapters of experts, recomputed": case(
        mixture("mixtral"), *parts("zero3", 4, 2), lora(), FULL
    ),
    "gpt_oss, parts of stacked experts with biases, adapters": case(
        mixture("gpt_oss"),
        *parts("ddp", 2, 2),
        BF16,
        lora(", target_parameters: [experts.gate_up_proj, experts.down_proj]"),
    ),
    "gpt2, parts, rows of tokens of a sum, also of a tied head": case(
        GPT2, *parts("ddp", 2, 2), lora(", targets: [c_attn], trainable_token_indices: [5, 3, 11]")
    ),
    "gemma, parts of 2 of 4 ranks, zero3, rows of tokens of a scaled embedding": case(
        family("gemma"),
        *parts("zero3", 4, 2),
        lora(", targets: [q_proj], trainable_token_indices: [5, 3, 11]"),
    ),
    "llama, parts, other rows of the head": case(
        family("llama"),
        *parts("ddp", 2, 2),
        lora(", targets: [q_proj], trainable_token_indices: {embed_tokens: [5], lm_head: [3, 4]}"),
    ),
    "qwen2, parts of 4 ranks, 2 heads of keys": case(family("qwen2"), *parts("ddp", 4, 4), BF16),
    "olmoe, parts of every expert, norms of all queries": case(
        family("olmoe", ALL_HEADS), *parts("ddp", 2, 2), BF16
    ),
    "qwen2_moe, parts of 2 of 4 ranks, zero3, recomputed": case(
        family("qwen2_moe"), *parts("zero3", 4, 2), FULL
    ),
    "gpt_oss, parts of stacked experts with biases": case(
        family("gpt_oss"), *parts("ddp", 2, 2), BF16
    ),
    "gpt2, parts of experts with a capacity, z-loss of routers": case(
        switch(", router_z_loss: 0.01, capacity_factor: 1.0"), *parts("ddp", 2, 2)
    ),
    "llama, parts, fp8": case(
        family("llama"), *parts("ddp", 2, 2), "precision={compute: bf16, products: fp8}"
    ),
    "llama, parts of 2 of 4 ranks, zero3, fp8, delayed scales": case(
        family("llama"),
        *parts("zero3", 4, 2),
        "precision={compute: bf16, products: fp8, scaling: delayed}",
    ),
    "llama, parts, fp8, adapters": case(
        family("llama"), *parts("ddp", 2, 2), "precision={compute: bf16, products: fp8}", lora()
    ),
    "bert, parts, classes": case(labels("bert", "pairs"), *parts("ddp", 2, 2)),
    "modernbert, parts of 2 of 4 ranks, zero2, means of texts": case(
        labels("modernbert", "pairs"), *parts("zero2", 4, 2), BF16
    ),
    "distilbert, parts, tags": case(tags("distilbert"), *parts("ddp", 2, 2)),
    "qwen3, parts, norms of heads, losses with terms": case(
        family("qwen3", more=", label_smoothing: 0.1, z_loss: 0.001"), *parts("ddp", 2, 2)
    ),
}
