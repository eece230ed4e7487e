"""Models that adapters of low rank stand beside."""

from .base import BF16, case, planned, ranks
from .decoders import FULL, family
from .encoders import WIDE, seq2seq
from .fp8 import LLAMA, fp8
from .mixtures import mixture, shared


def lora(more=""):
    return f"model.adapter={{type: lora, rank: 4{more}}}"


# Layers large enough that ranks of a host hold their frozen weights once.
LARGE = "model.options={hidden_size: 128, intermediate_size: 256}"

CASES = {
    "adapters: of all layers": case(family("llama"), BF16, lora()),
    "adapters: of some, with dropout, recomputed": case(
        family("llama"), lora(", targets: [q_proj, v_proj, up_proj], dropout: 0.1"), FULL
    ),
    "adapters: other ranks and scales": case(
        family("phi3"),
        lora(", rank_pattern: {qkv_proj: 2}, alpha_pattern: {down_proj: 1}, rslora: true"),
    ),
    "adapters: of GPT-2, beside a whole module": case(
        "gpt2", lora(", targets: [c_attn, c_fc], modules_to_save: [wte]")
    ),
    "adapters: of experts and a router": case(mixture("mixtral"), lora()),
    "adapters: of experts that ranks share": case(mixture("mixtral"), lora(), *shared("ddp", 2, 2)),
    "adapters: of an embedding, with dropout": case(
        "gpt2", lora(", targets: [wte, c_attn]")
    ),
    "adapters: of a scaled embedding, whose tied head stays": case(
        family("gemma"), BF16, lora(", targets: [embed_tokens, q_proj]")
    ),
    "adapters: a tied head is trained whole": case(
        "gpt2", lora(", targets: [c_attn], modules_to_save: [lm_head]")
    ),
    "adapters: an embedding and its tied head are trained whole": planned(
        "gpt2", lora(", targets: [c_attn], modules_to_save: [wte, lm_head]")
    ),
    "adapters: a tied head that cannot be parted, and another module whole": planned(
        seq2seq("t5", WIDE), lora(", targets: [q, v], modules_to_save: [lm_head, wo]"),
        refused=True,
    ),
    "adapters: rows of tokens, also of a tied head": case(
        "gpt2", lora(", targets: [c_attn], trainable_token_indices: [5, 3, 11]")
    ),
    "adapters: rows of tokens of a scaled embedding, zero3": case(
        family("gemma"), lora(", targets: [q_proj], trainable_token_indices: [5, 3, 11]"),
        *ranks("zero3", 2)
    ),
    "adapters: other rows of the head": case(
        family("llama"),
        lora(", targets: [q_proj], trainable_token_indices: {embed_tokens: [5], lm_head: [3, 4]}"),
    ),
    "adapters: in fp8": case(LLAMA, lora(), precision=fp8("delayed")),
    "adapters: in fp8, blocks, recomputed, ddp": case(
        LLAMA, lora(), FULL, *ranks("ddp", 2), precision=fp8("blocks")
    ),
    "adapters: a frozen head's rows, cut": planned(
        family("llama"), BF16, lora(), "batch.global_batch_size=160", "batch.micro_batch_size=160"
    ),
    "adapters: in fp8, evaluated in fp16": case(
        LLAMA, lora(), "eval.precision=fp16", precision=fp8("delayed")
    ),
    "adapters: zero3": case(family("qwen2"), BF16, lora(), *ranks("zero3", 2)),
    "adapters: ddp": case(family("llama"), LARGE, BF16, lora(), *ranks("ddp", 2)),
    "adapters: zero1 of 4 ranks, dropout": case(
        family("qwen2"), LARGE, lora(", dropout: 0.1"), *ranks("zero1", 4)
    ),
    "adapters: ddp, weights on the host": case(
        family("llama"), LARGE, BF16, lora(), *ranks("ddp", 2), "memory.parameter_offload=cpu"
    ),
}
