"""The rows of low-rank adapters: training steps of adapters of all linear layers beside models with
new, frozen weights of published sizes, and PEFT's with compiled layers."""

import decoders

PEER = "peft compile"
RANK = 16
# hidden, intermediate, layers, query heads, key-value heads, head size, vocabulary
SHAPES = {
    ("llama", "8b"): decoders.SHAPES["llama", "8b"],
    ("llama", "70b"): (8192, 28672, 80, 64, 8, 128, 128256),
    ("qwen3", "0.6b"): (1024, 3072, 28, 16, 8, 128, 151936),
}
TITLES = {
    ("llama", "8b"): "Llama-3.1-8B",
    ("llama", "70b"): "Llama-3.1-70B",
    ("qwen3", "0.6b"): "Qwen3-0.6B",
}
# What a size has beside those of the one that trainx knows, for sizes that it has no name for.
OF_OTHER_SIZE = {
    ("llama", "70b"): ("8b", {"num_layers": 80, "hidden_size": 8192, "intermediate_size": 28672,
                              "num_heads": 64, "num_key_value_heads": 8, "head_size": 128}),
}  # fmt: skip
TINY = {"num_layers": 2, "num_heads": 4, "num_key_value_heads": 2, "head_size": 16,
        "hidden_size": 64, "intermediate_size": 96, "vocab_size": 4096}  # fmt: skip
# how it is computed: what is set beside the row's model; and of the peer
WAYS = {
    "bf16": ([], ""),
    "recomputed": (["memory.activation_checkpoint=full"], " --recompute"),
    "fp8": (["precision.products=fp8", "precision.scaling=delayed"], None),
    # beside the peer that keeps all of it
    "selective": (["memory.activation_checkpoint=selective"], ""),
    "fp8-selective": (["precision.products=fp8", "precision.scaling=delayed",
                       "memory.activation_checkpoint=selective"], None),
    # on the host as many of the frozen weights as it holds
    "offloaded": (["memory.activation_checkpoint=full", "memory.parameter_offload=cpu"], None),
}
SET_UP_SECONDS = {"70b": 240, "8b": 40}


def flops_per_token(family, size, length):
    """4 for each frozen weight that multiplies a token, whose gradient nobody computes, 6 for each
    of the adapters, and 12 LCT of attention. What is recomputed does not count."""
    hidden, mlp, layers, heads, key_value_heads, head, vocabulary = SHAPES[family, size]
    queries, keys = heads * head, key_value_heads * head
    linears = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden),
               (hidden, mlp), (hidden, mlp), (mlp, hidden)]  # fmt: skip
    frozen = layers * sum(i * o for i, o in linears) + vocabulary * hidden
    trained = layers * sum(RANK * (i + o) for i, o in linears)
    return 4 * frozen + 6 * trained + 12 * layers * queries * length


def row(family, size, batch, length, way="bf16", tiny=False):
    settings, peer_settings = WAYS[way]
    named, options = OF_OTHER_SIZE.get((family, size), (size, {}))
    shape = [f"model.options.{key}={value}" for key, value in (TINY if tiny else options).items()]
    peer = (
        f"bench/peers/peft_lora.py --model {family}-{'test' if tiny else size} "
        f"--micro-batch {batch} --length {length} --rank {RANK}"
    )
    peer += " --warm-up-steps 2 --warm-up-seconds 0.1" if tiny else " --warm-up-steps 5 --compile"
    suffix, note = ("", "") if way == "bf16" else (f"-{way}", f", {way}")
    return {
        "name": f"{family}-{size}-{batch}x{length}{suffix}",
        "title": f"{TITLES[family, size]}, rank {RANK}, {batch} x {length}{note}",
        "unit": "tokens",
        "batch": batch,
        "length": length,
        "recipe": "configs/bench/lora.yaml",
        "data": "few_tokens" if tiny else "tokens",
        "overrides": [f"model.type={family}", f"model.size={named}",
                      f"model.adapter.rank={RANK}", f"model.adapter.alpha={2 * RANK}",
                      f"data.sequence_length={length}",
                      *(["run.device=cpu"] if tiny else []), *shape, *settings],
        "peers": {} if peer_settings is None else {PEER: peer + peer_settings},
        "loaded_ahead": [PEER],
        "against": PEER,
        "set_up_seconds": SET_UP_SECONDS.get(size, 20),
        "goal": None,
        "goal_ratio": None,
        "goal_memory": None if peer_settings is None else {"share": 1.0},
        "flops_per_token": flops_per_token(family, size, length),
        "flops_note": "4 FLOPs a frozen weight and 6 a trained one",
    }  # fmt: skip


def rows_of_70b(tiny=False):
    """Of a model whose weights neither a GPU of 141 GB nor a host of 128 GiB holds beside all else;
    needs as much host memory. A step takes seconds: a round of 1 second is one step."""
    return [row("llama", "70b", 1, 32 if tiny else 4096, "offloaded", tiny)]


def rows(tiny=False):
    """`tiny`: models of two layers, on any machine."""
    if tiny:
        return [row("llama", "8b", 2, 32, way, True) for way in WAYS] + [
            row("qwen3", "0.6b", 2, 32, tiny=True)
        ]
    return [
        row("llama", "8b", 4, 2048),
        row("llama", "8b", 1, 4096),
        row("llama", "8b", 4, 2048, "recomputed"),
        row("llama", "8b", 4, 2048, "selective"),
        row("llama", "8b", 4, 2048, "fp8"),
        row("llama", "8b", 4, 2048, "fp8-selective"),
        row("qwen3", "0.6b", 4, 2048),
    ]
