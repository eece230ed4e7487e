"""Plans alone, for GPUs: families x precisions x modes, budgets, machines that were measured."""

from .base import BF16, FP16, planned
from .fp8 import fp8

TOKENS = "{type: tokens, train: absent.bin, eval: absent_held.bin, sequence_length: %d}"
GIB = 1 << 30


def published(family, layers, length=1024, size=None, options=""):
    """As wide as published, of few layers."""
    of_size = f"size: {size}, " if size else ""
    return (
        f"{{type: {family}, {of_size}options: {{num_layers: {layers}{options}}}}}",
        TOKENS % length,
    )


GPT2 = published("gpt2", 4)
DEEP = published("gpt2", 6, size="350m")
WIDEST = published("gpt2", 8, size="1558m")
LLAMA = published("llama", 3, 2048, "8b")
QWEN = published("qwen3", 4, 2048, "0.6b")
MIXTRAL = published("mixtral", 2, 2048, "8x7b")
OLMOE = published("olmoe", 2, 2048)
GPT_OSS = published("gpt_oss", 4, 2048, "20b")
DEEPSEEK = published("deepseek_v3", 4, 2048, "16b-a3b")
BERT = (
    "{type: bert, size: base, options: {task: classification, num_labels: 3}}",
    "{type: jsonl, train: absent.jsonl, eval: absent_held.jsonl, sequence_length: 512}",
)
MODERNBERT = (
    "{type: modernbert, size: base, options: {task: masked_lm, mask_token: 50284, "
    "special_tokens: [50279, 50280, 50281, 50282, 50283, 50284]}}",
    "{type: jsonl, train: absent.jsonl, eval: absent_held.jsonl, sequence_length: 1024}",
)
T5 = (
    "{type: t5, size: base}",
    "{type: jsonl, train: absent.jsonl, eval: absent_held.jsonl, sequence_length: 512, target_length: 128}",
)
GPUS = ("h100", "h200", "a100", "rtx4090")


def batch(samples, micro="auto"):
    return f"{{global_batch_size: {samples}, micro_batch_size: {micro}}}"


def on(mode, world, more=""):
    return f"{{mode: {mode}, world_size: {world}{more}}}"


def machine(name, count, capability=90, memory_gib=140, host_gib=1024, **measured):
    """Facts of a machine with GPUs, as if this were it."""
    gpu = {
        "name": name, "compute_capability": capability, "memory_bytes": memory_gib * GIB,
        "cores": 132, "clock_mhz": 1980, "memory_bytes_per_s": 4_800_000_000_000,
        "address": "0000:17:00.0",
    }  # fmt: skip
    return {
        "hardware": {
            "gpus": [gpu] * count, "cpu_cores": 64, "memory_bytes": host_gib * GIB,
            "local_ranks": count, **measured,
        }
    }  # fmt: skip


H200_8 = machine(
    "NVIDIA H200", 8, link_bytes_per_s=3.2e11, link_latency_s=2e-5, host_bytes_per_s=5.2e10,
    host_update_bytes_per_s=2e11,
)  # fmt: skip
H200_1 = machine("NVIDIA H200", 1, host_bytes_per_s=5.2e10, host_update_bytes_per_s=8e10)
CLUSTER = {
    "hardware": H200_8["hardware"]
    | {"network": {"hosts": 2, "ranks_per_host": 8, "bytes_per_s": 4e10, "latency_s": 5e-5,
                   "link_bytes_per_s": 3e11, "link_latency_s": 2e-5}}
}  # fmt: skip

PUBLISHED = {
    "124M": planned(GPT2, "model.options.num_layers=12", BF16, batch=batch(64, 16)),
    "124M, tf32": planned(GPT2, "precision.compute=tf32", batch=batch(64, 16)),
    "124M, fp32": planned(GPT2, batch=batch(32, 8)),
    "124M, fp16": planned(GPT2, FP16, batch=batch(64, 16), gpus=("h100", "a100")),
    "350M": planned(DEEP, BF16, batch=batch(64, 8), gpus=GPUS),
    "llama": planned(LLAMA, BF16, batch=batch(8, 1), gpus=GPUS[:3]),
    "llama on 24 GiB": planned(LLAMA, BF16, batch=batch(8, 1), gpus=GPUS[3:], refused=True),
    "qwen3": planned(QWEN, BF16, batch=batch(16, 2), gpus=GPUS),
    "gemma2": planned(published("gemma2", 4, 2048), BF16, batch=batch(8, 1)),
    "phi": planned(published("phi", 4, 2048), BF16, batch=batch(8, 1), gpus=("a100",)),
    "gpt_neox": planned(published("gpt_neox", 6, 2048), BF16, batch=batch(8, 2)),
    "bloom": planned(published("bloom", 4), BF16, batch=batch(8, 2)),
    "youtu": planned(published("youtu", 4, 2048), BF16, batch=batch(8, 1)),
    "mixtral": planned(MIXTRAL, BF16, batch=batch(8, 1), gpus=("h200", "h100")),
    "olmoe": planned(OLMOE, BF16, batch=batch(16, 1), gpus=GPUS),
    "gpt_oss": planned(GPT_OSS, BF16, batch=batch(8, 1)),
    "deepseek_v3": planned(DEEPSEEK, BF16, batch=batch(8, 1)),
    "bert": planned(BERT, BF16, batch=batch(32, 8), gpus=("h200", "rtx4090")),
    "modernbert": planned(MODERNBERT, BF16, batch=batch(32, 8)),
    "t5": planned(T5, BF16, batch=batch(32, 8), gpus=("h200", "a100")),
    "llama, long rows": planned(
        published("llama", 2, 8192, "8b"), BF16, batch=batch(4, 1), gpus=("h200",)
    ),
    "124M, packed rows": planned(
        (GPT2[0], "{type: jsonl, packed: true, train: absent.jsonl, eval: absent_held.jsonl, sequence_length: 1024}"),
        BF16, batch=batch(64, 16),
    ),
    "124M, many micro-steps": planned(GPT2, BF16, batch=batch(4096, 8)),
    "124M, eager": planned(GPT2, BF16, "run.execution=eager", batch=batch(64, 16)),
    "124M, deterministic": planned(GPT2, BF16, "run.deterministic=true", batch=batch(64, 16)),
    "124M, by time": planned(
        GPT2, BF16, batch=batch(64, 16), run="{name: run, duration: 30 min}",
        schedule="{type: constant}",
        checkpoint="{every: auto}", eval="{every: 10 min}",
    ),
}  # fmt: skip

IN_FP8 = {
    f"fp8 qwen3, {scaling}": planned(
        QWEN, batch=batch(8, 1), precision=fp8(scaling, small_products="compute"),
        gpus=("h100", "h200") + (("rtx4090",) if scaling != "blocks" else ()),
    )
    for scaling in ("current", "delayed", "blocks")
} | {
    "fp8 350M": planned(
        DEEP, batch=batch(64, 8), precision=fp8("delayed", small_products="compute")
    ),
    "fp8 llama, zero3": planned(
        LLAMA, batch=batch(16, 1), parallel=on("zero3", 8), precision=fp8("delayed"),
        gpus=("h100",),
    ),
    "fp8 on a100": planned(LLAMA, batch=batch(8, 1), precision=fp8(), gpus=("a100",), refused=True),
}  # fmt: skip

MODES = {
    f"{name}, {mode} of {world}": planned(
        model, BF16, batch=batch(2 * world, 1), parallel=on(mode, world), gpus=(gpu,)
    )
    for name, model in (("350M", DEEP), ("llama", LLAMA))
    for mode, world, gpu in (
        ("ddp", 8, "h100"), ("zero1", 8, "a100"), ("zero2", 16, "h200"), ("zero3", 8, "rtx4090"),
        ("zero3", 64, "h100"),
    )
} | {
    "350M, dp of 4": planned(
        DEEP, BF16, batch=batch(8, 2), parallel=on("dp", 4), ranks=(0, 1), gpus=("h100",)
    ),
    "llama, zero3 in groups": planned(
        LLAMA, BF16, batch=batch(16, 1), parallel=on("zero3", 16, ", shard_ranks: 8"),
        gpus=("h100",),
    ),
    "llama, auto mode": planned(LLAMA, BF16, batch=batch(16, 1), parallel="{world_size: 8}"),
    "llama, auto mode on 24 GiB": planned(
        published("llama", 8, 2048, "8b"), BF16, batch=batch(16, 1), parallel="{world_size: 8}",
        gpus=("rtx4090",),
    ),
    "mixtral, experts of 8": planned(
        MIXTRAL, BF16, batch=batch(16, 1), parallel=on("zero1", 8, ", experts: 8"),
        gpus=("h100",),
    ),
    "olmoe, experts of 4 of 8": planned(
        OLMOE, BF16, batch=batch(16, 1), parallel=on("zero3", 8, ", experts: 4"), gpus=("h200",)
    ),
    "gpt_oss, experts with room": planned(
        GPT_OSS, BF16, batch=batch(16, 1), gpus=("h100",),
        parallel=on("ddp", 8, ", experts: 8, experts_capacity: 1.25, experts_overflow: drop"),
    ),
}  # fmt: skip

# how many ranks share a batch
CHOSEN_DEGREES = ", tensor: auto, context: auto"
DEGREES = {
    "llama, chosen degrees": planned(
        LLAMA, BF16, batch=batch(16), parallel="{world_size: 8%s}" % CHOSEN_DEGREES,
        gpus=("h100", "h200"),
    ),
    "llama, chosen degrees, ddp in little memory": planned(
        LLAMA, BF16, batch=batch(16), parallel=on("ddp", 8, CHOSEN_DEGREES), gpus=("rtx4090",)
    ),
    "llama, chosen degrees of long rows": planned(
        published("llama", 4, 65536, "8b", ", max_positions: 65536"), BF16, batch=batch(8),
        parallel="{world_size: 8%s}" % CHOSEN_DEGREES, gpus=("h100",),
    ),
    "llama, chosen degrees, fit": planned(
        published("llama", 8, 2048, "8b"), BF16, "memory.fit=true", batch=batch(16),
        parallel="{world_size: 8%s}" % CHOSEN_DEGREES, gpus=("rtx4090",),
    ),
    "llama, chosen degrees of fewer samples than ranks": planned(
        LLAMA, BF16, batch=batch(4), parallel="{world_size: 8%s}" % CHOSEN_DEGREES,
        facts=H200_8, gpus=("",),
    ),
    "350M, chosen degrees of 7 ranks": planned(
        DEEP, BF16, batch=batch(14), parallel="{world_size: 7%s}" % CHOSEN_DEGREES
    ),
    "350M, chosen degrees, does not fit": planned(
        DEEP, BF16, "memory.budget=2 GiB", batch=batch(64, 8), refused=True,
        parallel=on("ddp", 4, CHOSEN_DEGREES),
    ),
}  # fmt: skip

BUDGETS = {
    "1558M, fit": planned(WIDEST, BF16, "memory.fit=true", batch=batch(64)),
    "1558M, fit 12 GiB": planned(
        WIDEST, BF16, "memory={fit: true, budget: 12 GiB}", batch=batch(64)
    ),
    "1558M, fit 3 GiB": planned(
        WIDEST, BF16, "memory={fit: true, budget: 3 GiB}", batch=batch(16), facts=H200_1,
        gpus=("",),
    ),
    "350M, the fastest micro-batch": planned(DEEP, BF16, batch=batch(64), gpus=GPUS),
    "350M, least recomputation": planned(
        DEEP, BF16, "memory={activation_checkpoint: auto, budget: 5 GiB}", batch=batch(64, 16)
    ),
    # the fastest of all micro-batches is one with which some layers are recomputed
    "1558M, recomputation for a larger micro-batch": planned(
        WIDEST, BF16, "memory={activation_checkpoint: auto, budget: 7048 MiB}", batch=batch(64),
        gpus=("a100",),
    ),
    "350M, recomputation in place of copies": planned(
        DEEP, BF16, "memory={fit: true, budget: 4763 MiB}", batch=batch(128),
        parallel=on("zero2", 8), gpus=("rtx4090",),
    ),
    "350M, does not fit": planned(
        DEEP, BF16, "memory.budget=3 GiB", batch=batch(64, 16), refused=True
    ),
    "350M, nothing fits": planned(
        DEEP, BF16, "memory={fit: true, budget: 1 GiB}", batch=batch(64, 16), refused=True
    ),
    "llama, offloaded": planned(
        LLAMA, BF16, "memory.optimizer_offload={where: cpu, gradients: bf16, share: auto}",
        "memory.budget=24 GiB", batch=batch(8, 1), facts=H200_1, gpus=("",),
    ),
    "llama, weights on the host": planned(
        LLAMA, BF16, "memory={parameter_offload: cpu, budget: 24 GiB}",
        "memory.optimizer_offload.where=cpu", batch=batch(8, 1), facts=H200_1, gpus=("",),
    ),
    "llama, all on disk": planned(
        LLAMA, BF16, "memory.parameter_offload=disk", "memory.optimizer_offload.where=disk",
        batch=batch(8, 1), facts=H200_1, gpus=("",),
    ),
    "llama, host and disk": planned(
        LLAMA, BF16, "memory.optimizer_offload={where: cpu+disk, host_budget: 30 GiB}",
        batch=batch(8, 1), facts=H200_1, gpus=("",),
    ),
    "350M, activations away": planned(
        DEEP, BF16, "memory.activation_offload=cpu", batch=batch(64, 16), facts=H200_1, gpus=("",)
    ),
    "llama on a machine of 8": planned(
        LLAMA, BF16, batch=batch(64), parallel="{world_size: 8}", facts=H200_8, gpus=("",)
    ),
    "llama, zero3, weights kept": planned(
        LLAMA, BF16, "memory.activation_checkpoint=full", batch=batch(8, 1),
        parallel=on("zero3", 8), facts=H200_8, gpus=("",),
    ),
    "llama, zero3 of 16 on two machines": planned(
        LLAMA, BF16, batch=batch(16, 1), parallel=on("zero3", 16), facts=CLUSTER, gpus=("",)
    ),
    "llama, ddp of 16 on two machines": planned(
        QWEN, BF16, batch=batch(32, 1), parallel=on("ddp", 16), facts=CLUSTER, gpus=("",)
    ),
    "200 layers and more": planned(
        published("llama", 220, 128, options=", num_heads: 2, num_key_value_heads: 2, "
                  "hidden_size: 128, intermediate_size: 256, vocab_size: 1000"),
        BF16, batch=batch(4, 1),
    ),
}  # fmt: skip

# sizes that are no multiples of a tile: advice names better ones
ADVISED = {
    "odd sizes of a model": planned(
        published("gpt2", 4, options=", num_heads: 10, hidden_size: 1000, "
                  "intermediate_size: 3900, vocab_size: 50257"),
        BF16, batch=batch(32, 8), gpus=("h100", "h200"),
    ),
    "odd inner size": planned(
        published("llama", 3, 2048, options=", num_heads: 16, num_key_value_heads: 4, "
                  "hidden_size: 2048, intermediate_size: 5461, vocab_size: 32000"),
        BF16, batch=batch(16, 4), gpus=("h100", "h200"),
    ),
    "odd rows": planned(
        published("gpt2", 4, 1000), BF16, batch=batch(32, 8), gpus=("h100", "h200")
    ),
    "odd micro-batch": planned(GPT2, BF16, batch=batch(33, 33), gpus=("h100", "h200")),
    "small micro-batch in little memory": planned(
        DEEP, BF16, "memory.budget=12 GiB", batch=batch(96, 3), gpus=("h100", "h200")
    ),
}  # fmt: skip

CASES = {
    f"plan: {name}": c
    for name, c in (PUBLISHED | IN_FP8 | MODES | DEGREES | BUDGETS | ADVISED).items()
}
