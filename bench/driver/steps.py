"""The rows that `bench/drive` measures by default: training steps beside torch and Hugging Face's Trainer, each at its best settings."""


def gpt2(size, batch, goal, ratio, memory, *, eager=False, graphs=False):
    """`memory`: GiB, or a share of torch compile's. FLOPs: 6 for each weight of a product and 12 LCT of attention (PaLM's way of counting)."""
    layers, width = {"124m": (12, 768), "350m": (24, 1024), "774m": (36, 1280), "1558m": (48, 1600)}[size]
    peer = f"bench/peers/torch_gpt2.py --size {size} --micro-batch {batch} --length 1024"
    peers = {"torch compile": f"{peer} --compile"}
    if graphs:                                      # where launches bound the step, compile's own CUDA graphs are torch at its best
        peers["torch compile, CUDA graphs"] = f"{peer} --compile --compile-mode reduce-overhead"
    if eager:                                       # last: it takes the most memory, and whom the GPU does not hold beside the others runs alone
        peers["torch eager"] = peer
    return {"name": f"gpt2-{size}-{batch}x1024", "title": f"GPT-2 {size.upper()}, {batch} x 1024", "unit": "tokens", "batch": batch, "length": 1024,
            "recipe": "configs/bench/gpt2.yaml", "data": "tokens", "overrides": [f"model.size={size}", "data.sequence_length=1024"], "peers": peers,
            "goal": goal, "goal_ratio": ratio, "against": "torch compile", "goal_memory": memory,
            "flops_per_token": 6 * (12 * layers * width**2 + 50257 * width) + 12 * layers * width * 1024}


def bert(batch, goal, ratio, *, compiled=False):
    layers, width = 24, 1024
    peer = f"bench/peers/trainer_bert.py --size large --micro-batch {batch} --length 512 --precision bf16"
    peers = {"Trainer": peer}
    if compiled:
        peers["Trainer compile"] = f"{peer} --compile"
    return {"name": f"bert-large-{batch}x512", "title": f"BERT-large, {batch} x 512", "unit": "samples", "batch": batch, "length": 512,
            "recipe": "configs/bench/bert.yaml", "data": "jsonl", "overrides": ["model.size=large", "data.sequence_length=512"], "peers": peers,
            "goal": goal, "goal_ratio": ratio, "against": "Trainer", "goal_memory": None,
            "flops_per_token": 6 * 12 * layers * width**2 + 12 * layers * width * 512}


ROWS = [  # work, goal in tokens or samples a second, goal over the peer that `against` names, goal for memory
    gpt2("124m", 64, 640e3, 1.2, {"gib": 22}, eager=True),
    gpt2("124m", 4, 540e3, 1.5, None, eager=True, graphs=True),
    gpt2("124m", 1, 300e3, 2.9, None, eager=True, graphs=True),
    gpt2("350m", 32, 232e3, 1.2, {"share": 0.9}),
    gpt2("774m", 16, 106e3, 1.2, {"share": 0.9}),
    gpt2("1558m", 16, 57e3, 1.2, {"share": 0.9}),
    bert(4, 340, 3.0, compiled=True),
    bert(32, 480, 1.6, compiled=True),
    bert(64, 510, None),
]
