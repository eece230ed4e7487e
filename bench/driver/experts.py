"""The rows of mixtures of experts on CPUs: an OLMoE of 16 experts, 4 of a token, in fp32, beside
transformers in each way that it computes experts."""

LAYERS, HIDDEN, WIDTH, EXPERTS, PER_TOKEN, VOCABULARY = 4, 256, 256, 16, 4, 4096
PEER = "transformers eager"
# one expert after the other, and all at once; `batched_mm` copies an expert's weights for each
# token that it computes and takes minutes for a step
WAYS = {PEER: "eager", "transformers grouped": "grouped_mm"}


def row(batch, length, tiny=False):
    peer = (
        f"bench/peers/torch_transformers.py --family olmoe --size 16x4 --micro-batch {batch} "
        f"--length {length} --device cpu --precision fp32 --warm-up-steps 2 --warm-up-seconds "
        f"{0.1 if tiny else 2}"
    )
    options = {"num_layers": LAYERS, "num_heads": 8, "num_key_value_heads": 8,
               "hidden_size": HIDDEN, "intermediate_size": WIDTH, "num_experts": EXPERTS,
               "num_experts_per_tok": PER_TOKEN, "vocab_size": VOCABULARY}  # fmt: skip
    weights = LAYERS * (4 * HIDDEN**2 + PER_TOKEN * 3 * HIDDEN * WIDTH + EXPERTS * HIDDEN)
    return {
        "name": f"olmoe-16x4-{batch}x{length}",
        "title": f"OLMoE of 16 experts, {batch} x {length}, CPU",
        "unit": "tokens",
        "batch": batch,
        "length": length,
        "recipe": "configs/bench/decoder.yaml",
        "data": "few_tokens",
        "overrides": ["model.type=olmoe", "model.size=1b-7b", "run.device=cpu", "precision=fp32",
                      f"data.sequence_length={length}", *(
                          f"model.options.{key}={value}" for key, value in options.items())],
        "peers": {name: f"{peer} --experts {way}" for name, way in WAYS.items()},
        "against": PEER,
        "goal": None,
        "goal_ratio": 1.5,
        "goal_memory": None,
        "flops_per_token": 6 * (weights + VOCABULARY * HIDDEN) + 12 * LAYERS * HIDDEN * length,
    }  # fmt: skip


def rows(tiny):
    return [row(2, 32, True)] if tiny else [row(8, 256)]
