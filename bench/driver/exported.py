"""The rows of exported models: a GPT-2 of transformers, exported once (scripts/trainx-export),
beside transformers itself."""

SIZES = {"124m": (12, 768), "test": (2, 64)}  # layers, width
PEER = "transformers eager"


def row(size, batch, goal_ratio, *, tiny=False):
    """`prepare`: the export is made by the Python that runs the peers, before anything is timed."""
    made = "test" if tiny else size
    layers, width = SIZES[made]
    length = 64 if tiny else 1024
    peer = (
        f"bench/peers/torch_transformers.py --family gpt2 --size {made} --micro-batch {batch} "
        f"--length {length}"
    )
    overrides = ["model.init_from={scratch}/exported-gpt2", f"data.sequence_length={length}"]
    peers = {PEER: peer, "transformers compile": f"{peer} --compile"}
    if tiny:
        overrides.append("run.device=cpu")
        peers = {PEER: f"{peer} --device cpu --warm-up-steps 2 --warm-up-seconds 0.1"}
    return {
        "name": f"exported-gpt2-{size}-{batch}x1024",
        "title": f"GPT-2 {size.upper()}, exported, {batch} x 1024",
        "unit": "tokens",
        "batch": batch,
        "length": length,
        "prepare": f"bench/exported/make_export.py --size {made} {{scratch}}/exported-gpt2",
        "recipe": "bench/exported/recipe.yaml",
        "data": "tokens",
        "overrides": overrides,
        "peers": peers,
        "goal": None,
        "goal_ratio": goal_ratio,
        "against": PEER,
        "goal_memory": None,
        # as bench/driver/steps.py counts
        "flops_per_token": 6 * (12 * layers * width**2 + 50257 * width) + 12 * layers * width * length,
    }


def rows(tiny):
    return [row("124m", 4, 1.3, tiny=tiny)]
