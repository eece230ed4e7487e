"""Products in fp8: three ways to scale, who casts weights and when, what is left out."""

from .base import BF16, MODELS, STORIES, case, ranks

# Sizes that a GPU's kernels for fp8 take.
SIZES = "num_heads: 2, hidden_size: 64, max_positions: 32"
GPT2 = (f"{{type: gpt2, options: {{num_layers: 3, {SIZES}, dropout: 0.1}}}}", STORIES)
LLAMA = (
    "{type: llama, options: {num_layers: 2, num_heads: 4, num_key_value_heads: 2, hidden_size: 64, "
    "intermediate_size: 96, max_positions: 32}}",
    STORIES,
)


def fp8(scaling="current", compute="bf16", **more):
    """Small products gain nothing on a GPU, and are in fp8 all the same."""
    keys = {"compute": compute, "products": "fp8", "small_products": "fp8", "scaling": scaling}
    return "{" + ", ".join(f"{k}: {v}" for k, v in (keys | more).items()) + "}"


CASES = {
    **{
        f"fp8, {name}": case(GPT2, precision=fp8(name)) for name in ("current", "delayed", "blocks")
    },
    **{
        f"fp8, {name}, fp32": case(GPT2, precision=fp8(name, "fp32"), gpus=("",))
        for name in ("current", "delayed", "blocks")
    },
    **{
        f"fp8, {name}, llama": case(LLAMA, precision=fp8(name))
        for name in ("current", "delayed", "blocks")
    },
    "fp8, inner layers": case(
        GPT2, "model.options.num_layers=4", precision=fp8(first_last="compute")
    ),
    "fp8, what gains": case(GPT2, precision=fp8("delayed", small_products="compute")),
    "fp8, recomputed": case(GPT2, "memory.activation_checkpoint=full", precision=fp8("delayed")),
    "fp8, blocks, recomputed: mlp": case(
        LLAMA, "memory.activation_checkpoint=mlp", precision=fp8("blocks")
    ),
    "fp8, a whole batch": case(LLAMA, "batch.micro_batch_size=8", precision=fp8()),
    "fp8, fallen back": case(
        GPT2,
        precision=fp8("delayed"),
        fallback=("h.0.attn.c_attn.weight", "h.1.mlp.c_fc.weight"),
        trains=False,
    ),
    "fp8, ddp": case(GPT2, *ranks("ddp", 2), precision=fp8("delayed")),
    "fp8, zero1": case(LLAMA, *ranks("zero1", 2), precision=fp8("blocks")),
    "fp8, zero2": case(GPT2, *ranks("zero2", 2), precision=fp8("delayed")),
    "fp8, zero3": case(GPT2, *ranks("zero3", 2), precision=fp8()),
    "fp8, zero3, delayed": case(LLAMA, *ranks("zero3", 2), precision=fp8("delayed")),
    "fp8, zero3, blocks, recomputed": case(
        GPT2, *ranks("zero3", 2), "memory.activation_checkpoint=full", precision=fp8("blocks")
    ),
    "fp8, zero3 of 4 in pairs": case(
        GPT2, *ranks("zero3", 4, 2, ", shard_ranks: 2"), precision=fp8()
    ),
    "fp8, zero3, fallen back": case(
        GPT2,
        *ranks("zero3", 2),
        precision=fp8("delayed"),
        fallback=("h.0.attn.c_attn.weight",),
        trains=False,
    ),
    "fp8, optimizer on the host": case(GPT2, "memory.optimizer_offload.where=cpu", precision=fp8()),
    "fp8, weights on the host": case(GPT2, "memory.parameter_offload=cpu", precision=fp8()),
    "fp8, frozen layers": case(
        LLAMA,
        "optimizer.groups=[{match: 'model.layers.0.*', freeze: true}]",
        precision=fp8("delayed"),
    ),
    "fp8, bert": case(MODELS["bert"], "model.options.hidden_size=64", precision=fp8("delayed")),
    "fp8, evaluated in bf16": case(
        GPT2, "eval.precision=bf16", precision=fp8("current", "fp32"), gpus=("",)
    ),
}
