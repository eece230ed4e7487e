"""Ranks that share a batch and have some tokens of each row."""

from .adapters import lora
from .base import BF16, FP16, STORIES, case, ranks
from .decoders import ALL_HEADS, FULL, family
from .encoders import WIDE, encoder, seq2seq
from .gpt2 import IN_BACKWARD
from .mixtures import mixture, switch

GPT2 = (
    "{type: gpt2, options: {num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32, "
    "dropout: 0.1}}",
    STORIES,
)


def tokens(mode, world, context, micro=1):
    return ranks(mode, world, micro, f", context: {context}")


def parts_of_tokens(mode, world):
    return ranks(mode, world, 4, ", tensor: 2, context: 2")


def experts_and_tokens(mode, world, context, experts, micro=1, more=""):
    return ranks(mode, world, micro, f", context: {context}, experts: {experts}{more}")


CASES = {
    "llama, tokens of 2 ranks": case(family("llama"), *tokens("ddp", 2, 2)),
    "llama, tokens of 4 ranks, shared heads of keys": case(
        family("llama"), *tokens("ddp", 4, 4), BF16
    ),
    "llama, tokens of 2 ranks, recomputed": case(family("llama"), *tokens("ddp", 2, 2), BF16, FULL),
    "llama, tokens of 2 of 4 ranks, zero1": case(family("llama"), *tokens("zero1", 4, 2), FP16),
    "llama, tokens of 4 ranks, zero3": case(family("llama"), *tokens("zero3", 4, 4), BF16),
    "llama, tokens, updates in backward": case(
        family("llama"), *tokens("ddp", 2, 2, 8), IN_BACKWARD
    ),
    "llama, tokens, fp8": case(
        family("llama"), *tokens("ddp", 2, 2), "precision={compute: bf16, products: fp8}"
    ),
    "gpt2, tokens of ranks, dropout": case(GPT2, *tokens("ddp", 2, 2)),
    "gpt2, tokens of packed rows": case("packed", *tokens("ddp", 2, 2)),
    "granite_swa, tokens, sinks": case(family("granite_swa"), *tokens("ddp", 2, 2)),
    "olmo2, tokens, norms of all queries": case(
        family("olmo2", ALL_HEADS), *tokens("ddp", 2, 2), BF16
    ),
    "youtu, tokens, latent attention": case(family("youtu", ALL_HEADS), *tokens("ddp", 2, 2)),
    "t5, tokens, learned biases": case(seq2seq("t5", WIDE), *tokens("ddp", 2, 2)),
    "bart, tokens of 2 of 4 ranks, zero3": case(seq2seq("bart"), *tokens("zero3", 4, 2), BF16),
    "llama, parts and tokens of 4 ranks": case(family("llama"), *parts_of_tokens("ddp", 4), BF16),
    "llama, parts and tokens, recomputed": case(
        family("llama"), *parts_of_tokens("ddp", 4), BF16, FULL
    ),
    "llama, parts and tokens of 4 of 8 ranks, zero3": case(
        family("llama"), *parts_of_tokens("zero3", 8), BF16
    ),
    "gpt2, parts and tokens, dropout": case(GPT2, *parts_of_tokens("ddp", 4)),
    "mixtral, tokens and experts of 2 ranks": case(
        mixture("mixtral"), *experts_and_tokens("ddp", 2, 2, 2)
    ),
    "olmoe, tokens of 2 and experts of 4 ranks, recomputed": case(
        mixture("olmoe"), *experts_and_tokens("zero1", 4, 2, 4), BF16, FULL
    ),
    "mixtral, tokens and experts of 2 of 4 ranks, zero3": case(
        mixture("mixtral"), *experts_and_tokens("zero3", 4, 2, 2), BF16
    ),
    "mixtral, tokens of 2 and experts of 8 ranks, zero2": case(
        mixture("mixtral"), *experts_and_tokens("zero2", 8, 2, 8, 2)
    ),
    "mixtral, tokens and experts, some room": case(
        mixture("mixtral"),
        *experts_and_tokens(
            "ddp", 2, 2, 2, 2, ", experts_capacity: 1.5, experts_overflow: drop"
        ),
    ),
    "switch, tokens, a capacity of all ranks": case(switch(", capacity_factor: 0.5"), *tokens("ddp", 2, 2)),
    "llama, parts and tokens, adapters, rows of tokens": case(
        family("llama"),
        *parts_of_tokens("ddp", 4),
        lora(", dropout: 0.1, targets: [o_proj], trainable_token_indices: [5, 3, 11]"),
    ),
    "llama, tokens of 2 ranks, rows of tokens": case(
        family("llama"),
        *tokens("ddp", 2, 2),
        lora(", targets: [q_proj], trainable_token_indices: {embed_tokens: [5], lm_head: [3, 4]}"),
    ),
    "modernbert, tokens": case(encoder("modernbert"), *tokens("ddp", 2, 2)),
}
