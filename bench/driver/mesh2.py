"""The rows of two GPUs that share a batch: layers in parts (parallel.tensor), beside torch's tensor
parallelism and beside shards of everything; long rows by tokens (parallel.context), beside one
GPU; and stages of layers (parallel.pipeline), beside shards."""

import decoders
import ranks

PEER, ASYNCHRONOUS = "torch tensor parallel", "torch tensor parallel, asynchronous"
ZERO3 = "trainx, zero3"
# what the peer keeps: weights, gradients and moments in bf16
ALIKE = ["precision.master=none", "precision.rounding=stochastic",
         "optimizer.type=adamw_anyprecision", "optimizer.options.momentum_dtype=bf16",
         "optimizer.options.variance_dtype=bf16"]  # fmt: skip
TINY = {"num_layers": 2, "num_heads": 4, "num_key_value_heads": 2, "head_size": 16,
        "hidden_size": 64, "intermediate_size": 96}  # fmt: skip


def row(batch, length, alike, tiny):
    own = decoders.row("llama", "8b", batch, length, tiny=tiny)
    states = ALIKE if alike else []
    settings = [*own["overrides"], *states]
    peer = f"{ranks.torchrun(2)} bench/peers/torch_tensor.py --size {'test' if tiny else '8b'} --micro-batch {batch} --length {length}"
    peer += " --device cpu --warm-up-steps 2 --warm-up-seconds 0.1" if tiny else " --compile"
    peers = {PEER: peer} if tiny else {PEER: peer, ASYNCHRONOUS: f"{peer} --asynchronous"}
    name = "alike" if alike else "exact"
    return ranks.among(
        2,
        own
        | {
            "name": f"tensor-8b-{batch}x{length}-{name}",
            "title": f"Llama-3.1-8B, {batch} x {length}, 2 GPUs, "
            f"{'states alike' if alike else 'exact states'}",
            "overrides": [*settings, "parallel.mode=ddp", "parallel.tensor=2"],
            "shares_batch": True,
            "variants": {
                ZERO3: [
                    *settings,
                    f"batch.micro_batch_size={batch // 2}",
                    "parallel.mode=zero3",
                ]
            },
            "peers": peers if alike else {},
            "against": PEER if alike else ZERO3,
            "goal": 22.2e3 if alike and not tiny else None,
            "goal_ratio": 1.10 if alike else None,
            "goal_memory": {"share": 0.85} if alike else None,
            "set_up_seconds": 150,
        },
    )


def long_row(length, tiny):
    """Two GPUs with half of a row's tokens each, and one with all of them."""
    own = decoders.row("llama", "8b", 1, length, small_state=True, tiny=tiny)
    return ranks.among(
        2,
        own
        | {
            "name": f"context-8b-1x{length}",
            "title": f"Llama-3.1-8B, 1 x {length}, tokens over 2 GPUs",
            "overrides": [*own["overrides"], "parallel.mode=ddp", "parallel.context=2"],
            "shares_batch": True,
            "variants": {ranks.ONE: own["overrides"]},
            "peers": {},
            "against": ranks.ONE,
            "goal_ratio": 0.9,
            "goal_memory": None,
            "set_up_seconds": 150,
        },
    )


def stages_row(micro_steps, length, tiny):
    """Two stages by each schedule: 1F1B idles 1/(m + 1) of a step, chunks of layers less."""
    own = decoders.row("llama", "8b", 1, length, tiny=tiny, micro_steps=micro_steps)
    stages = [*own["overrides"], "parallel.mode=ddp", "parallel.pipeline=2"]
    chunks = {
        f"trainx, {n} chunks": [
            *stages,
            "parallel.pipeline_schedule=interleaved",
            f"parallel.pipeline_chunks={n}",
        ]
        for n in ((2,) if tiny else (2, 4))
    }
    return ranks.among(
        2,
        own
        | {
            "name": f"pipeline-8b-{micro_steps}x1x{length}",
            "title": f"Llama-3.1-8B, {micro_steps} micro-batches of 1 x {length}, 2 stages",
            "overrides": stages,
            "shares_batch": True,
            "variants": {**chunks, ZERO3: [*own["overrides"], "parallel.mode=zero3"]},
            "peers": {},
            "against": ZERO3,
            "goal_ratio": None,
            "goal_memory": None,
            "set_up_seconds": 150,
        },
    )


def rows(tiny=False):
    """`tiny`: a model of two layers, on any machine."""
    batch, length = (4, 32) if tiny else (4, 2048)
    return [
        *(row(batch, length, alike, tiny) for alike in (True, False)),
        *(long_row(tokens, tiny) for tokens in ((64,) if tiny else (32768, 131072))),
        stages_row(4 if tiny else 8, 32 if tiny else 4096, tiny),
    ]
