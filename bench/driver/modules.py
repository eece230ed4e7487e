"""The rows of own modules: a GPT-2 of torch::nn modules (bench/own_gpt2), in a worker of its own,
beside plain torch."""

SIZES = {"124m": (12, 12, 768), "test": (2, 2, 64)}  # layers, heads, width


def row(size, batch, goal_ratio, *, tiny=False):
    """`worker`: the program that computes ours, beside trainx or in the build folder's bench/."""
    layers, heads, width = SIZES["test" if tiny else size]
    peer = (
        f"bench/peers/torch_gpt2.py --size {'test' if tiny else size} --micro-batch {batch} "
        f"--length 1024"
    )
    overrides = [
        f"model.options.num_layers={layers}",
        f"model.options.num_heads={heads}",
        f"model.options.hidden_size={width}",
        "data.sequence_length=1024",
    ]
    if tiny:
        overrides.append("run.device=cpu")
        peer += " --device cpu --warm-up-steps 2 --warm-up-seconds 0.1"
    return {
        "name": f"own-gpt2-{size}-{batch}x1024",
        "title": f"GPT-2 {size.upper()} of own modules, {batch} x 1024",
        "unit": "tokens",
        "batch": batch,
        "length": 1024,
        "worker": "own-gpt2-worker",
        "recipe": "bench/own_gpt2/recipe.yaml",
        "data": "tokens",
        "overrides": overrides,
        "peers": {"torch compile": f"{peer} --compile", "torch eager": peer},
        "goal": None,
        "goal_ratio": goal_ratio,
        "against": "torch eager",
        "goal_memory": None,
        # as bench/driver/steps.py counts
        "flops_per_token": 6 * (12 * layers * width**2 + 50257 * width) + 12 * layers * width * 1024,
    }


def rows(tiny):
    return [row("124m", 4, 1.3, tiny=tiny)]
