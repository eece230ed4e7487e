"""The rows of families: training steps with new weights of published sizes, beside transformers under torch.compile."""

PEER = "transformers compile"
# hidden, intermediate, layers, query heads, key-value heads, head size, vocabulary
SHAPES = {
    ("qwen2", "0.5b"): (896, 4864, 24, 14, 2, 64, 151936),
    ("qwen2", "1.5b"): (1536, 8960, 28, 12, 2, 128, 151936),
    ("qwen2", "3b"): (2048, 11008, 36, 16, 2, 128, 151936),
    ("qwen2", "7b"): (3584, 18944, 28, 28, 4, 128, 152064),
    ("llama", "1b"): (2048, 8192, 16, 32, 8, 64, 128256),
    ("llama", "8b"): (4096, 14336, 32, 32, 8, 128, 128256),
}
# of experts: how many of width `intermediate` compute a token, of how many
EXPERTS = {("olmoe", "1b-7b"): (8, 64)}
SHAPES["olmoe", "1b-7b"] = (2048, 1024, 16, 16, 16, 128, 50304)
NAMES = {("llama", "8b"): "Llama-3.1", "qwen2": "Qwen2.5", "llama": "Llama-3.2", "modernbert": "ModernBERT", "t5": "T5",
         "olmoe": "OLMoE"}
# As LLM.Q's published figures have them: 524,288 tokens a step. Micro-batch, micro-steps, goal.
LLMQ = {
    "0.5b": (32, 16, 165e3),
    "1.5b": (16, 32, 60e3),
    "3b": (8, 64, 31e3),
    "7b": (8, 64, 14.1e3),
}


def flops_per_token(family, size, length):
    """6 for each weight that multiplies a token and 12 LCT of attention (PaLM's way of counting)."""
    hidden, mlp, layers, heads, key_value_heads, head, vocabulary = SHAPES[family, size]
    attention = hidden * head * (heads + 2 * key_value_heads) + heads * head * hidden
    active, experts = EXPERTS.get((family, size), (1, 0))
    feed_forward = active * 3 * hidden * mlp + experts * hidden
    return (
        6 * (layers * (attention + feed_forward) + vocabulary * hidden)
        + 12 * layers * heads * head * length
    )


def row(
    family, size, batch, length, *, small_state=False, goal=None, tiny=False, micro_steps=1
):
    """`small_state`: weights and optimizer states of few bytes, where fp32 has no room: ours bf16
    with stochastic rounding and 8-bit moments, the peer's all in bf16. `batch`: of a micro-step."""
    peer = f"bench/peers/torch_transformers.py --family {family} --size {'test' if tiny else size} --micro-batch {batch} --length {length}"
    overrides = [f"model.type={family}", f"model.size={size}", f"data.sequence_length={length}"]
    if tiny:
        overrides += [
            "run.device=cpu",
            *(
                f"model.options.{key}={value}"
                for key, value in (
                    ("num_layers", 2),
                    ("num_heads", 4),
                    ("num_key_value_heads", 2),
                    ("head_size", 16),
                    ("hidden_size", 64),
                    ("intermediate_size", 96),
                )
            ),
        ]
        peer += " --warm-up-steps 2 --warm-up-seconds 0.1"
    else:
        peer += " --compile"
    if small_state:
        overrides = [
            *overrides,
            "precision.master=none",
            "precision.rounding=stochastic",
            "optimizer.type=adamw_8bit",
        ]
        if micro_steps == 1:
            overrides += ["optimizer.update_in_backward=true", "optimizer.max_grad_norm=0"]
        peer += " --weights bf16"
    if micro_steps > 1:
        peer += f" --accumulate {micro_steps} --warm-up-steps 2"
    times, name = (f"{micro_steps} x ", f"-x{micro_steps}") if micro_steps > 1 else ("", "")
    model = f"{NAMES.get((family, size), NAMES[family])}-{size.upper()}"
    return {
        "name": f"{family}-{size}-{batch}x{length}{name}",
        "title": f"{model}, {times}{batch} x {length}",
        "unit": "tokens",
        "batch": batch * micro_steps,
        "micro_batch": batch,
        "length": length,
        "recipe": "configs/bench/decoder.yaml",
        "data": "tokens",
        "overrides": overrides,
        "peers": {PEER: peer},
        "against": PEER,
        "set_up_seconds": 90,
        "goal": goal,
        "goal_ratio": 1.15,
        "goal_memory": {"share": 0.9},
        "flops_per_token": flops_per_token(family, size, length),
    }


def llmq(size):
    batch, steps, goal = LLMQ[size]
    return row("qwen2", size, batch, 1024, goal=goal, small_state=size == "7b", micro_steps=steps)


def encoder_flops_per_token(length):
    """Of ModernBERT-base: a third of its layers looks everywhere, the others at 129 tokens."""
    hidden, mlp, layers = 768, 1152, 22
    weights = layers * (4 * hidden * hidden + 3 * hidden * mlp)
    everywhere = (layers + 2) // 3
    return 6 * weights + 12 * hidden * (
        everywhere * length + (layers - everywhere) * min(length, 129)
    )


def pair_flops_per_token(length):
    """Of T5-base, by token of both texts: targets are a quarter of sources."""
    hidden, mlp, layers, vocabulary, share = 768, 3072, 12, 32128, 1 / 4
    side = layers * (4 * hidden * hidden + 2 * hidden * mlp)
    across = layers * (2 + 2 * share) * hidden * hidden
    weights = side * (1 + share) + across + vocabulary * hidden * share
    pairs = length * (1 + share * share / 2 + share)
    return (6 * weights + 12 * layers * hidden * pairs) / (1 + share)


def other_row(family, size, batch, length, flops, *, data, recipe, tiny_options=(), tiny=False):
    peer = f"bench/peers/torch_transformers.py --family {family} --size {'test' if tiny else size} --micro-batch {batch} --length {length}"
    overrides = [f"model.size={size}", f"data.sequence_length={length}", f"data.pad_to=[{length}]"]
    if family == "t5":
        overrides.append(f"data.target_length={length // 4}")
    if tiny:
        overrides += ["run.device=cpu", *(f"model.options.{option}" for option in tiny_options)]
        peer += " --warm-up-steps 2 --warm-up-seconds 0.1"
    else:
        peer += " --compile"
    return {
        "name": f"{family}-{size}-{batch}x{length}",
        "title": f"{NAMES[family]}-{size}, {batch} x {length}",
        "unit": "tokens",
        "batch": batch,
        "length": length,
        "tokens_per_sample": length + length // 4 if family == "t5" else length,
        "recipe": recipe,
        "data": data,
        "overrides": overrides,
        "peers": {PEER: peer},
        "against": PEER,
        "set_up_seconds": 90,
        "goal": None,
        "goal_ratio": 1.15,
        "goal_memory": {"share": 0.9},
        "flops_per_token": flops(length),
    }


def modernbert(batch, length, tiny=False):
    return other_row(
        "modernbert", "base", batch, length, encoder_flops_per_token, data="jsonl",
        recipe="configs/bench/modernbert.yaml", tiny=tiny,
        tiny_options=("num_layers=4", "num_heads=4", "hidden_size=64", "intermediate_size=96"),
    )  # fmt: skip


def t5(batch, length, tiny=False):
    return other_row(
        "t5", "base", batch, length, pair_flops_per_token, data="targets",
        recipe="configs/bench/t5.yaml", tiny=tiny,
        tiny_options=("num_layers=2", "num_decoder_layers=2", "num_heads=4", "hidden_size=64",
                      "head_size=16", "intermediate_size=96"),
    )  # fmt: skip


def rows(tiny=False):
    """`tiny`: models of two layers, on any machine."""
    if tiny:
        return [row("qwen2", "0.5b", 2, 32, tiny=True), modernbert(2, 32, True), t5(2, 32, True)]
    # so many tokens that the optimizer's bytes are few beside the products
    return [
        *map(llmq, LLMQ),
        row("qwen2", "0.5b", 32, 1024),
        row("qwen2", "0.5b", 8, 4096),
        row("qwen2", "1.5b", 16, 1024),
        row("qwen2", "1.5b", 4, 4096),
        row("qwen2", "3b", 8, 1024),
        row("qwen2", "3b", 2, 4096),
        row("qwen2", "7b", 8, 1024, small_state=True),
        row("qwen2", "7b", 2, 4096, small_state=True),
        row("llama", "1b", 16, 1024),
        row("llama", "1b", 4, 4096),
        row("olmoe", "1b-7b", 4, 4096, small_state=True),
        modernbert(32, 1024),
        modernbert(8, 4096),
        t5(32, 1024),
        t5(8, 4096),
    ]
