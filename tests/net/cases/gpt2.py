"""GPT-2 and BERT: precisions, memory, optimizers and ranks."""

from .base import BF16, FP16, WHOLE, case, ranks

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
IN_BACKWARD = "optimizer={update_in_backward: true, max_grad_norm: 0}"
FULL = "memory.activation_checkpoint=full"


def offload(where, more=""):
    return f"memory.optimizer_offload={{where: {where}{more}}}"


PRECISIONS = {
    "fp32": case("gpt2"),
    "whole batch": case("gpt2", WHOLE, gpus=("",)),
    "micro-batches of 1": case("gpt2", "batch.micro_batch_size=1", gpus=("",)),
    "bf16": case("gpt2", BF16),
    "bf16, fp32 master": case("gpt2", BF16, "precision.master=fp32"),
    "bf16, no master": case("gpt2", BF16, "precision.master=none"),
    "bf16, no master, stochastic": case(
        "gpt2", BF16, "precision={master: none, rounding: stochastic}"
    ),
    "fp16": case("gpt2", FP16),
    "fp16, fixed scale": case("gpt2", FP16, "precision.loss_scale=1024"),
    "evaluated in bf16": case("gpt2", "eval.precision=bf16"),
    "evaluated in fp16, average": case(
        "gpt2", "eval={precision: fp16, weights: average}", "optimizer.ema_decay=0.9"
    ),
    "no dropout, no clipping": case("gpt2", "model.options.dropout=0", "optimizer.max_grad_norm=0"),
    "attention's dropout": case("gpt2", BF16, "model.options.attention_dropout=0.1"),
    "smoothed labels, z-loss": case(
        "gpt2", "model.options.label_smoothing=0.1", "model.options.z_loss=1e-3", gpus=("",)
    ),
    "math attention": case("gpt2", "model.attention=math", BF16),
    "flash attention": case("gpt2", "model.attention=flash", BF16),
    "cudnn attention": case("gpt2", "model.attention=cudnn", BF16, gpus=("h200",), trains=False),
    "efficient attention": case(
        "gpt2", "model.attention=efficient", BF16, gpus=("h200",), trains=False
    ),
}

MEMORY = {
    "recomputed: selective": case("gpt2", BF16, "memory.activation_checkpoint=selective"),
    "recomputed: mlp": case("gpt2", "memory.activation_checkpoint=mlp"),
    "recomputed: full": case("gpt2", BF16, FULL),
    "recomputed: by layer, segments": case("gpt2", FULL, "memory.recompute_segment=2"),
    "recomputed: list": case("gpt2", "memory.activation_checkpoint=[full, none, mlp]"),
    "recomputed: full, math": case("gpt2", FULL, "model.attention=math"),
    "activations on the host": case("gpt2", BF16, "memory.activation_offload=cpu"),
    "activations on the host, selective": case(
        "gpt2", "memory={activation_offload: cpu, activation_checkpoint: selective}"
    ),
    "optimizer on the host": case("gpt2", offload("cpu")),
    "optimizer on the host, bf16 gradients": case("gpt2", BF16, offload("cpu, gradients: bf16")),
    "optimizer on the host, a share": case("gpt2", BF16, offload("cpu, share: 0.4")),
    "optimizer on disk": case("gpt2", BF16, offload("disk")),
    "optimizer on disk, a share": case("gpt2", offload("disk, share: 0.3, read_ahead: 1")),
    "optimizer on host and disk": case("gpt2", offload("cpu+disk"), FP16),
    "optimizer on host and disk, little host": case(
        "gpt2", offload("cpu+disk, host_budget: 900 KiB"), BF16
    ),
    "weights on the host": case("gpt2", BF16, offload("cpu"), "memory.parameter_offload=cpu"),
    "weights on the host, optimizer not": case("gpt2", "memory.parameter_offload=cpu"),
    "weights on disk": case("gpt2", BF16, offload("disk"), "memory.parameter_offload=disk", WHOLE),
    "update in backward": case("gpt2", WHOLE, IN_BACKWARD),
    "update in backward, on the host": case("gpt2", WHOLE, BF16, IN_BACKWARD, offload("cpu")),
    "update in backward, weights on the host": case(
        "gpt2", WHOLE, IN_BACKWARD, "memory.parameter_offload=cpu"
    ),
}

OPTIMIZED = {
    **{
        f"optimizer {name}": case("gpt2", *([BF16] if k % 2 else []), optimizer=text, gpus=("",))
        for k, (name, text) in enumerate(OPTIMIZERS.items())
    },
    "optimizer anyprecision, compensated": case(
        "gpt2",
        BF16,
        "precision.master=none",
        optimizer="{type: adamw_anyprecision, lr: 3e-3, options: {use_kahan_summation: true}}",
    ),
    "optimizer adafactor, relative steps": case(
        "gpt2", optimizer="{type: adafactor}", schedule="{type: constant}", gpus=("",)
    ),
    "optimizer groups": case(
        "gpt2",
        BF16,
        "optimizer.groups=[{match: '*wpe*', freeze: true}, {match: '*mlp*', lr_scale: 0.5}, "
        "{match: '*.bias', weight_decay: 0.2}]",
    ),
    "optimizer groups, frozen layers, on the host": case(
        "gpt2",
        "optimizer.groups=[{match: 'h.0.*', freeze: true}, {match: 'wte*', lr: 1e-3}]",
        offload("cpu"),
    ),
    "average of the weights": case("gpt2", BF16, "optimizer.ema_decay=0.99"),
    "linear schedule": case(
        "gpt2", schedule="{type: linear, warmup: 3 steps, final_ratio: 0.1}", gpus=("",)
    ),
}

RANKS = {
    "ddp": case("gpt2", *ranks("ddp", 2)),
    "ddp of 4, bf16 sums": case("gpt2", *ranks("ddp", 4), BF16, "precision.reduce=bf16"),
    "ddp, fp16, recomputed": case("gpt2", *ranks("ddp", 2), FP16, FULL),
    "ddp, optimizer on the host": case("gpt2", *ranks("ddp", 2, 4), offload("cpu")),
    "ddp, update in backward": case("gpt2", *ranks("ddp", 2, 4), IN_BACKWARD),
    "dp": case("gpt2", *ranks("dp", 2), ranks=(0, 1)),
    "dp of 4, bf16": case("gpt2", *ranks("dp", 4), BF16, ranks=(0, 1), gpus=("",)),
    "zero1": case("gpt2", *ranks("zero1", 2), BF16),
    "zero1, fp16": case("gpt2", *ranks("zero1", 2), FP16, gpus=("",)),
    "zero1 of 4 in pairs": case("gpt2", *ranks("zero1", 4, 2, ", shard_ranks: 2"), BF16),
    "zero2": case("gpt2", *ranks("zero2", 2)),
    "zero2 of 4, bf16 sums": case("gpt2", *ranks("zero2", 4), BF16, "precision.reduce=bf16"),
    "zero2, optimizer on the host": case(
        "gpt2", *ranks("zero2", 2), BF16, offload("cpu, gradients: bf16")
    ),
    "zero2, adamw_8bit": case(
        "gpt2", *ranks("zero2", 2), optimizer=OPTIMIZERS["adamw_8bit"], gpus=("",)
    ),
    "zero3": case("gpt2", *ranks("zero3", 2), BF16),
    "zero3, recomputed": case("gpt2", *ranks("zero3", 2), FULL),
    "zero3 of 4 in pairs": case("gpt2", *ranks("zero3", 4, 2, ", shard_ranks: 2")),
    "zero3, lamb": case("gpt2", *ranks("zero3", 2), optimizer=OPTIMIZERS["lamb"], gpus=("",)),
    "zero3, adafactor": case("gpt2", *ranks("zero3", 2), optimizer=OPTIMIZERS["adafactor"]),
    "zero3, evaluated in bf16": case("gpt2", *ranks("zero3", 2), "eval.precision=bf16"),
    "zero3, weights on the host": case(
        "gpt2", *ranks("zero3", 2), BF16, offload("cpu"), "memory.parameter_offload=cpu"
    ),
    "zero3, update in backward": case(
        "gpt2", *ranks("zero3", 2, 4), IN_BACKWARD, trains=False, refused=True
    ),
    "zero3, groups": case(
        "gpt2",
        *ranks("zero3", 2),
        "optimizer.groups=[{match: 'wte*', freeze: true}, {match: '*attn*', lr_scale: 2}]",
    ),
}

OTHERS = {
    "packed": case("packed"),
    "packed, bf16, recomputed": case("packed", BF16, FULL),
    "bert": case("bert"),
    "bert, bf16, selective": case("bert", BF16, "memory.activation_checkpoint=selective"),
    "bert, fp16, recomputed": case("bert", FP16, FULL, gpus=("",)),
    "bert, recomputed: mlp": case("bert", BF16, "memory.activation_checkpoint=mlp", gpus=("",)),
    "bert, activations on the host": case("bert", BF16, "memory.activation_offload=cpu"),
    "bert, ddp": case("bert", *ranks("ddp", 2)),
    "bert, zero2": case("bert", *ranks("zero2", 2), BF16, gpus=("",)),
    "bert, zero3": case("bert", *ranks("zero3", 2)),
    "bert, optimizer on the host": case("bert", BF16, offload("cpu")),
    "pairs": case("pairs"),
    "pairs, bf16, recomputed": case("pairs", BF16, FULL),
    "pairs, zero1": case("pairs", *ranks("zero1", 2), FP16, gpus=("",)),
    "pairs, dp": case("pairs", *ranks("dp", 2), ranks=(0, 1), gpus=("",)),
}

CASES = PRECISIONS | MEMORY | OPTIMIZED | RANKS | OTHERS
