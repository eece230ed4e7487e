"""The rows of the guides' tables: each method as asked, once more as trainx fits it, and Hugging Face's Trainer with the same settings.

Dummy samples of 512 tokens into BERT-large, as the guides have it; and sentence pairs padded to 128 tokens into BERT-base with and without fp16. Both with the dropout that BERT is published with.
As fitted: the same samples a step, precision and optimizer, and trainx chooses how the batch is cut and what is recomputed. Within the goal: the same with no more memory than the goal allows.
"""
AGAINST, FITTED, WITHIN = "Trainer", "trainx as fitted", "trainx within the goal"
TINY = {"layers": 2, "heads": 2, "width": 64, "length": 32}       # the peer's size `test`
FIT = ["batch.micro_batch_size=auto", "memory.activation_checkpoint=auto", "memory.fit=true"]
OPTIMIZERS = {  # as Trainer's optim= has it: no weight decay; Adafactor with the learning rate of the schedule; 8 bits for all but embeddings
    "adamw": ["optimizer.options.weight_decay=0.0"],
    "adafactor": ["optimizer.type=adafactor", "optimizer.options.scale_parameter=false", "optimizer.options.relative_step=false"],
    "adamw_8bit": ["optimizer.type=adamw_8bit", "optimizer.options.weight_decay=0.0", "optimizer.options.embeddings_32bit=true"],
}
# MiB of the allocators at which a row that takes more as asked reaches its goal: what MEMORY came to beside the Trainer; of pairs of 16 and more without dropout, which takes less (tests/data/measured/h200/guides/goals.jsonl).
GOALS = {"vanilla": 5626, "1x4": 5626, "tf32": 5626, "adafactor": 3222, "8bit": 3803, "4x16": 5626, "batch-32": 14704, "batch-64": 26273, "pairs-8-fp32": 1838,
         "pairs-16-fp32": 1838, "pairs-16-fp16": 2068, "pairs-32-fp32": 2653, "pairs-32-fp16": 2170, "pairs-64-fp32": 4313, "pairs-64-fp16": 3203}
DROPOUT = 0.1                                       # of hidden states and of attention's weights
CONTEXT = 548                                       # MiB, which memory.budget has in it
MEMORY = {"share": 0.7, "floor": 1.1}               # of the Trainer's peak, of what the states take by arithmetic: the larger counts


def row(name, title, batch=4, micro=None, *, precision="fp32", optimizer="adamw", checkpoint=False, ratio=None, model="large", pairs=False, tiny=False):
    micro = micro or batch
    length = TINY["length"] if tiny else 128 if pairs else 512
    data = "pairs" if pairs else "jsonl"
    layers, width = (TINY["layers"], TINY["width"]) if tiny else {"base": (12, 768), "large": (24, 1024)}[model]
    size = [f"model.options.num_layers={layers}", f"model.options.num_heads={TINY['heads']}", f"model.options.hidden_size={width}",
            f"model.options.intermediate_size={4 * width}", "model.options.max_positions=512"] if tiny else [f"model.size={model}"]
    overrides = [*size, f"data.sequence_length={length}", f"data.pad_to=[{length}]", f"precision.compute={precision}", *OPTIMIZERS[optimizer],
                 f"model.options.dropout={DROPOUT}", f"model.options.attention_dropout={DROPOUT}"]
    if checkpoint:
        overrides.append("memory.activation_checkpoint=full")
    peer = [f"bench/peers/trainer_bert.py --size {'test' if tiny else model} --length {length} --precision {precision} --optimizer {optimizer}",
            f"--micro-batch {micro} --accumulation {batch // micro} --data {{data}}", *(["--checkpointing"] if checkpoint else []),
            f"--dropout {DROPOUT} --attention-dropout {DROPOUT}", "--warm-up-steps 3 --warm-up-seconds 0.5"]
    fitted = [o for o in overrides if "checkpoint" not in o] + FIT
    within = {WITHIN: [*fitted, f"memory.budget={GOALS[name] + CONTEXT} MiB"]} if name in GOALS and not tiny else {}
    return {"name": name, "title": title, "unit": "samples", "batch": batch, "micro_batch": micro, "length": length, "recipe": "configs/bench/guides.yaml",
            "data": data, "overrides": overrides, "variants": {FITTED: fitted, **within},
            "peers": {AGAINST: " ".join(peer)}, "loaded_ahead": [AGAINST], "goal": None, "goal_ratio": ratio, "against": AGAINST, "goal_memory": MEMORY,
            "set_up_seconds": 9 if batch // micro > 4 else 4, "table": "pairs" if pairs else "methods",
            "methods": {"precision": precision, "optimizer": optimizer, "micro_batch": micro, "checkpointing": checkpoint, "tiny": tiny}}


def all_methods(optimizer, name, title, tiny):
    """Accumulation, checkpointing and half precision together."""
    return [row(f"{name}-{precision}", f"{title}, {precision}", 4, 1, precision=precision, optimizer=optimizer, checkpoint=True, ratio=10, tiny=tiny)
            for precision in ("fp16", "bf16")]


def rows(tiny=False):
    """`tiny`: a model of two layers and short samples, with which every row runs on any machine that has its precision."""
    return [
        row("vanilla", "vanilla, fp32", ratio=1.08, tiny=tiny),
        row("1x4", "1 x 4, fp32", 4, 1, ratio=1.5, tiny=tiny),
        row("1x4-checkpointing", "1 x 4 + checkpointing, fp32", 4, 1, checkpoint=True, ratio=1.5, tiny=tiny),
        row("tf32", "tf32", precision="tf32", ratio=2.2, tiny=tiny),
        row("fp16", "fp16", precision="fp16", ratio=3, tiny=tiny),
        row("bf16", "bf16", precision="bf16", ratio=3, tiny=tiny),
        *all_methods("adamw", "all", "1 x 4 + checkpointing", tiny),
        row("adafactor", "Adafactor, fp32", optimizer="adafactor", ratio=1.3, tiny=tiny),
        *all_methods("adafactor", "all-adafactor", "1 x 4 + checkpointing + Adafactor", tiny),
        row("8bit", "8-bit AdamW, fp32", optimizer="adamw_8bit", ratio=1.3, tiny=tiny),
        *all_methods("adamw_8bit", "all-8bit", "1 x 4 + checkpointing + 8-bit AdamW", tiny),
        row("1x64", "1 x 64, bf16", 64, 1, precision="bf16", tiny=tiny),
        row("4x16", "4 x 16, bf16", 64, 4, precision="bf16", tiny=tiny),
        row("batch-32", "batch 32, bf16", 32, precision="bf16", tiny=tiny),
        row("batch-64", "batch 64, bf16", 64, precision="bf16", tiny=tiny),
        *(row(f"pairs-{batch}-{precision}", f"pairs, batch {batch}, {precision}", batch, precision=precision, model="base", pairs=True, tiny=tiny)
          for batch in (8, 16, 32, 64) for precision in ("fp32", "fp16")),
    ]
