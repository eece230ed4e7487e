"""What scripts/compare_builds records: recipes of every model, method and precision.

Each trains in about a second.
"""

import json
import random
import struct

STEPS = 20
RUN = "run: {{name: run, seed: 7, duration: {steps} steps, deterministic: true}}\n"
SIZES = "num_heads: 2, hidden_size: 32, max_positions: 32"
GPT2 = f"""\
model: {{{{type: gpt2, options: {{{{num_layers: 3, {SIZES}, dropout: 0.1}}}}}}}}
data: {{{{type: stories, sequence_length: 32, samples: 512, eval_samples: 16}}}}
"""
PACKED = f"""\
model: {{{{type: gpt2, options: {{{{num_layers: 2, {SIZES}, vocab_size: 200}}}}}}}}
data:
  {{{{type: jsonl, packed: true, train: train_packed.jsonl, eval: held_packed.jsonl,
   sequence_length: 32}}}}
"""
BERT = f"""\
model:
  type: bert
  options: {{{{num_layers: 3, {SIZES}, vocab_size: 200, dropout: 0.1, task: masked_lm,
            mask_probability: 0.3}}}}
data:
  {{{{type: jsonl, train: train_lines.jsonl, eval: held_lines.jsonl, sequence_length: 32,
   pad_to: [16, 32], group_by_length: true}}}}
"""
PAIRS = f"""\
model:
  type: bert
  options: {{{{num_layers: 2, {SIZES}, vocab_size: 200, dropout: 0.1, task: classification,
            num_labels: 3}}}}
data: {{{{type: jsonl, train: train_pairs.jsonl, eval: held_pairs.jsonl, sequence_length: 32}}}}
"""
OWN = """\
model: {{type: mixer, options: {{vocab_size: 50, depth: 3, dropout: 0.1}}}}
data: {{type: tokens, train: train_tokens.bin, eval: held_tokens.bin, sequence_length: 32}}
"""
REST = """\
batch: {{global_batch_size: 8, micro_batch_size: 4}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: cosine, warmup: 5 steps}}
checkpoint: {{every: {steps} steps, keep_last: 1}}
eval: {{every: 10 steps, batches: 2}}
metrics: {{every: 1 steps}}
parallel: {{mode: single}}
"""
MODELS = {"gpt2": GPT2, "packed": PACKED, "bert": BERT, "pairs": PAIRS, "own": OWN}

OPTIMIZERS = {
    "sgd": "{type: sgd, lr: 1e-2}",
    "momentum": "{type: sgd, lr: 1e-2, options: {momentum: 0.9, nesterov: true}}",
    "adam": "{type: adam, lr: 3e-3}",
    "adagrad": "{type: adagrad, lr: 1e-2}",
    "lion": "{type: lion, lr: 3e-4}",
    "lamb": "{type: lamb, lr: 3e-3}",
    "adamw_8bit": "{type: adamw_8bit, lr: 3e-3, options: {min_8bit_size: 1024}}",
    "anyprecision": "{type: adamw_anyprecision, lr: 3e-3}",
    "adafactor": "{type: adafactor, lr: 3e-3, options: {relative_step: false}}",
}
BF16, FP16, WHOLE = "precision.compute=bf16", "precision.compute=fp16", "batch.micro_batch_size=8"


def ranks(mode, world, micro=2, more=""):
    return [
        f"parallel={{mode: {mode}, world_size: {world}{more}}}",
        f"batch.micro_batch_size={micro}",
    ]


# Name: model, settings.
CASES = {
    "fp32": ("gpt2", []),
    "whole batch": ("gpt2", [WHOLE]),
    "micro-batches of 1": ("gpt2", ["batch.micro_batch_size=1"]),
    "bf16": ("gpt2", [BF16]),
    "bf16, fp32 master": ("gpt2", [BF16, "precision.master=fp32"]),
    "bf16, no master, stochastic": (
        "gpt2",
        [BF16, "precision={master: none, rounding: stochastic}"],
    ),
    "fp16": ("gpt2", [FP16]),
    "fp16, fixed scale": ("gpt2", [FP16, "precision.loss_scale=1024"]),
    "evaluated in bf16": ("gpt2", ["eval.precision=bf16"]),
    "no dropout, no clipping": ("gpt2", ["model.options.dropout=0", "optimizer.max_grad_norm=0"]),
    "math attention": ("gpt2", ["model.attention=math", BF16]),
    "flash attention": ("gpt2", ["model.attention=flash", BF16]),
    "recomputed: selective": ("gpt2", [BF16, "memory.activation_checkpoint=selective"]),
    "recomputed: mlp": ("gpt2", ["memory.activation_checkpoint=mlp"]),
    "recomputed: full": ("gpt2", [BF16, "memory.activation_checkpoint=full"]),
    "recomputed: by layer, segments": (
        "gpt2",
        ["memory={activation_checkpoint: full, recompute_segment: 2}"],
    ),
    "recomputed: list": ("gpt2", ["memory.activation_checkpoint=[full, none, mlp]"]),
    "activations on the host": ("gpt2", [BF16, "memory.activation_offload=cpu"]),
    "optimizer on the host": ("gpt2", ["memory.optimizer_offload=cpu"]),
    "optimizer on the host, bf16 gradients": (
        "gpt2",
        [BF16, "memory.optimizer_offload={where: cpu, gradients: bf16}"],
    ),
    "optimizer on disk": ("gpt2", [BF16, "memory.optimizer_offload=disk"]),
    "optimizer on disk, a share": (
        "gpt2",
        ["memory.optimizer_offload={where: disk, share: 0.3, read_ahead: 1}"],
    ),
    "optimizer on host and disk": ("gpt2", ["memory.optimizer_offload=cpu+disk", FP16]),
    "weights on the host": (
        "gpt2",
        [BF16, "memory={optimizer_offload: cpu, parameter_offload: cpu}"],
    ),
    "weights on disk": (
        "gpt2",
        [BF16, "memory={optimizer_offload: disk, parameter_offload: disk}", WHOLE],
    ),
    "update in backward": (
        "gpt2",
        [WHOLE, "optimizer={update_in_backward: true, max_grad_norm: 0}"],
    ),
    "update in backward, on the host": (
        "gpt2",
        [
            WHOLE,
            BF16,
            "optimizer={update_in_backward: true, max_grad_norm: 0}",
            "memory.optimizer_offload=cpu",
        ],
    ),
    **{
        f"optimizer {name}": ("gpt2", [f"optimizer={text}", *([BF16] if k % 2 else [])])
        for k, (name, text) in enumerate(OPTIMIZERS.items())
    },
    "optimizer anyprecision, compensated": (
        "gpt2",
        [
            "optimizer={type: adamw_anyprecision, lr: 3e-3, options: {use_kahan_summation: true}}",
            BF16,
            "precision.master=none",
        ],
    ),
    "optimizer adafactor, relative steps": (
        "gpt2",
        ["optimizer={type: adafactor}", "schedule={type: constant}"],
    ),
    "ddp": ("gpt2", ranks("ddp", 2)),
    "ddp of 4, bf16 sums": ("gpt2", [*ranks("ddp", 4), BF16, "precision.reduce=bf16"]),
    "ddp, fp16, recomputed": (
        "gpt2",
        [*ranks("ddp", 2), FP16, "memory.activation_checkpoint=full"],
    ),
    "ddp, optimizer on the host": ("gpt2", [*ranks("ddp", 2, 4), "memory.optimizer_offload=cpu"]),
    "dp": ("gpt2", ranks("dp", 2)),
    "dp of 4, bf16": ("gpt2", [*ranks("dp", 4), BF16]),
    "zero1": ("gpt2", [*ranks("zero1", 2), BF16]),
    "zero1, fp16": ("gpt2", [*ranks("zero1", 2), FP16]),
    "zero2": ("gpt2", ranks("zero2", 2)),
    "zero2 of 4, bf16 sums": ("gpt2", [*ranks("zero2", 4), BF16, "precision.reduce=bf16"]),
    "zero2, optimizer on the host": (
        "gpt2",
        [*ranks("zero2", 2), BF16, "memory.optimizer_offload={where: cpu, gradients: bf16}"],
    ),
    "zero2, adamw_8bit": ("gpt2", [*ranks("zero2", 2), f"optimizer={OPTIMIZERS['adamw_8bit']}"]),
    "zero3": ("gpt2", [*ranks("zero3", 2), BF16]),
    "zero3, recomputed": ("gpt2", [*ranks("zero3", 2), "memory.activation_checkpoint=full"]),
    "zero3 of 4 in pairs": ("gpt2", ranks("zero3", 4, 2, ", shard_ranks: 2")),
    "zero3, lamb": ("gpt2", [*ranks("zero3", 2), f"optimizer={OPTIMIZERS['lamb']}"]),
    "zero3, adafactor": ("gpt2", [*ranks("zero3", 2), f"optimizer={OPTIMIZERS['adafactor']}"]),
    "zero3, evaluated in bf16": ("gpt2", [*ranks("zero3", 2), "eval.precision=bf16"]),
    "packed": ("packed", []),
    "packed, bf16, recomputed": ("packed", [BF16, "memory.activation_checkpoint=full"]),
    "bert": ("bert", []),
    "bert, bf16, selective": ("bert", [BF16, "memory.activation_checkpoint=selective"]),
    "bert, fp16, recomputed": ("bert", [FP16, "memory.activation_checkpoint=full"]),
    "bert, recomputed: mlp": ("bert", [BF16, "memory.activation_checkpoint=mlp"]),
    "bert, activations on the host": ("bert", [BF16, "memory.activation_offload=cpu"]),
    "bert, ddp": ("bert", ranks("ddp", 2)),
    "bert, zero2": ("bert", [*ranks("zero2", 2), BF16]),
    "bert, zero3": ("bert", ranks("zero3", 2)),
    "bert, optimizer on the host": ("bert", [BF16, "memory.optimizer_offload=cpu"]),
    "pairs": ("pairs", []),
    "pairs, bf16, recomputed": ("pairs", [BF16, "memory.activation_checkpoint=full"]),
    "pairs, zero1": ("pairs", [*ranks("zero1", 2), FP16]),
    "pairs, dp": ("pairs", ranks("dp", 2)),
    "own": ("own", []),
    "own, bf16": ("own", [BF16]),
    "own, recomputed": ("own", ["memory.activation_checkpoint=full"]),
    "own, ddp": ("own", ranks("ddp", 2)),
    "own, zero2": ("own", [*ranks("zero2", 2), BF16]),
    "own, optimizer on the host": ("own", ["memory.optimizer_offload=cpu"]),
}

# Recipes of the project that are planned alone, for a GPU.
PLANNED = {
    "124M, tf32": ("configs/gpt2_124m.yaml", ["--gpu", "h200", "precision.compute=tf32"]),
    "124M": ("configs/gpt2_124m.yaml", ["--gpu", "h200"]),
    "124M on 8": (
        "configs/gpt2_124m.yaml",
        ["--gpu", "h100", "parallel={mode: ddp, world_size: 8}"],
    ),
    "1558M, fit": (
        "configs/gpt2_124m.yaml",
        ["--gpu", "h200", "model.size=1558m", "memory.fit=true"],
    ),
    "1558M, zero3 on 8": (
        "configs/gpt2_124m.yaml",
        ["--gpu", "h100", "model.size=1558m", "parallel={mode: zero3, world_size: 8}"],
    ),
    "1558M, 40 GiB": (
        "configs/gpt2_124m.yaml",
        ["--gpu", "h200", "model.size=1558m", "memory={fit: true, budget: 40 GiB}"],
    ),
}


def write_split(folder, split, samples, draw):
    with (
        open(folder / f"{split}_lines.jsonl", "w") as lines,
        open(folder / f"{split}_pairs.jsonl", "w") as pairs,
        open(folder / f"{split}_packed.jsonl", "w") as packed,
    ):
        for _ in range(samples):
            ids = [draw.randrange(104, 200) for _ in range(draw.randrange(6, 33))]
            print(json.dumps({"input_ids": ids}), file=lines)
            cut = len(ids) // 2
            print(
                json.dumps(
                    {
                        "input_ids": ids,
                        "token_type_ids": [0] * cut + [1] * (len(ids) - cut),
                        "label": sum(ids) % 3,
                    }
                ),
                file=pairs,
            )
            documents = [draw.randrange(3, 9) for _ in range(4)]
            row = [draw.randrange(200) for _ in range(sum(documents))]
            print(json.dumps({"input_ids": row, "document_lengths": documents}), file=packed)
    ids = [0]
    for _ in range(samples * 32):
        ids.append((7 * ids[-1] + draw.choice([1, 1, 1, 2])) % 50)
    header = [20240520, 1, len(ids)] + [0] * 253  # llm.c's format: 256 int32, then uint16
    (folder / f"{split}_tokens.bin").write_bytes(
        struct.pack("<256i", *header) + struct.pack(f"<{len(ids)}H", *ids)
    )


def write_data(folder):
    """The data that the recipes name; the same at each call."""
    draw = random.Random(20)
    write_split(folder, "train", 256, draw)
    write_split(folder, "held", 32, draw)


def recipe_of(model, settings):
    """Without the sections that a setting replaces as a whole."""
    lines = (RUN + MODELS[model] + REST).format(steps=STEPS).splitlines(keepends=True)
    replaced = [setting.split("=")[0] + ":" for setting in settings if "={type:" in setting]
    return "".join(line for line in lines if not line.startswith(tuple(replaced)))
