"""Every method with every other: prints cases by a seed, python3 combinations.py SEED

What tests/recipes/legality.json calls illegal is refused, by a sentence that names what it lists;
all else trains with the plain run's losses. They are equal to the bit where the arithmetic is the
same: whatever is recomputed or waits on the host, wherever exact weights lie, whenever they are
updated. They are within rounding where micro-batches are cut otherwise.
TRAINX_LONG=1: all pairs and 2,000 random recipes, else some.
"""

import itertools
import json
import os
import pathlib
import random
import sys

LONG = os.environ.get("TRAINX_LONG") == "1"
TESTS = pathlib.Path(__file__).resolve().parents[1]
# First what the reading of a recipe finds, all of it at once; then what planning finds, one thing
# at a time.
LEGALITY = json.loads((TESTS / "recipes" / "legality.json").read_text())
# The first value of a method is the plain one.
METHODS = {
    "data.kind": ["words", "lines"],
    "data.shuffle": ["true", "false"],
    "data.group_by_length": ["false", "true"],
    "data.pad_to": ["auto", "[16, 32]"],
    "data.workers": ["1", "2"],
    "model.options.dropout": ["0", "0.1"],
    "model.attention": ["auto", "flash", "math", "cudnn", "efficient"],
    "precision.compute": ["fp32", "bf16", "fp16", "tf32"],
    "precision.products": ["compute", "fp8"],
    "precision.first_last": ["auto", "fp8", "compute"],
    "precision.small_products": ["compute", "fp8"],
    "precision.scaling": ["current", "delayed", "blocks"],
    "precision.fallback": ["0.001", "1"],
    "precision.fallback_window": ["100", "2"],
    "precision.master": ["auto", "fp32", "split", "none"],
    "precision.rounding": ["nearest", "stochastic"],
    "eval.precision": ["auto", "bf16", "fp16"],
    "precision.loss_scale": ["auto", "1024"],
    "precision.loss_scale_window": ["2000", "100"],
    "batch.micro_batch_size": ["8", "4", "2", "1", "auto", "3"],
    "memory.activation_checkpoint": [
        *("none", "selective", "mlp", "full", "auto"),
        *("[full, none]", "[selective, full]", "[full, none, mlp]"),
    ],
    "memory.recompute_segment": ["1", "2"],
    "memory.activation_offload": ["none", "cpu"],
    "memory.optimizer_offload": [
        *("none", "cpu", "disk", "cpu+disk", "{where: cpu, share: 0.5}"),
        *("{where: disk, share: 0.3, read_ahead: 1}", "{where: cpu, gradients: bf16}"),
    ],
    "memory.parameter_offload": ["none", "cpu", "disk"],
    "memory.release_cache_every": ["null", "1 steps"],
    "checkpoint.asynchronous": ["auto", "true", "false"],
    "memory.fit": ["false", "true"],
    "memory.budget": ["auto", "2 GiB", "1 MiB"],
    "run.deterministic": ["true", "false"],
    "run.execution": ["auto", "eager", "graph"],
    "optimizer": [
        "{type: adamw, options: {weight_decay: 0.1}}",
        "{type: sgd}",
        "{type: sgd, options: {momentum: 0.9, nesterov: true}}",
        "{type: sgd, options: {momentum: 0.9}}",
        "{type: adamw}",
        "{type: sgd, options: {nesterov: true}}",
        "{type: adam}",
        "{type: adagrad}",
        "{type: lion}",
        "{type: lamb}",
        "{type: adamw_8bit, options: {min_8bit_size: 1024}}",
        "{type: adamw_anyprecision}",
        "{type: adamw_anyprecision, options: {use_kahan_summation: true}}",
        "{type: adafactor, options: {relative_step: false}}",
        "{type: adafactor}",
    ],
    "optimizer.max_grad_norm": ["1", "0"],
    "optimizer.update_in_backward": ["false", "true"],
    # several ranks of two cores take their time
    "parallel": [
        *["{mode: single}"] * 6,
        "{mode: zero2, world_size: 2}",
        "{mode: zero3, world_size: 2}",
        "{mode: ddp, tensor: 2, world_size: 2}",
        "{mode: ddp, context: 2, world_size: 2}",
        "{mode: ddp, tensor: 2, context: 2, world_size: 4}",
        "{mode: ddp, pipeline: 2, world_size: 2}",
        "{mode: ddp, pipeline: 2, pipeline_schedule: interleaved, pipeline_chunks: 2, world_size: 2}",
    ],
    "schedule.type": ["cosine", "linear", "constant"],
    "schedule.final_ratio": ["0", "0.1"],
}
# What the losses follow from; all else must not change them.
NUMBERS = {
    *("data.kind", "data.shuffle", "data.group_by_length", "model.options.dropout"),
    *("precision.compute", "precision.products", "precision.scaling", "precision.rounding"),
    *("precision.loss_scale", "optimizer", "optimizer.max_grad_norm", "schedule.type"),
    "schedule.final_ratio",
}
PLAIN = {method: values[0] for method, values in METHODS.items()}
RECIPE = """\
run: {duration: 3 steps, deterministic: true}
MODEL
batch: {global_batch_size: 8}
schedule: {type: cosine}
metrics: {every: 1 steps}
parallel: {mode: single}
"""
MODELS = {
    "words": """\
model: {type: gpt2, options: {num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32}}
data: {type: stories, sequence_length: 32, samples: 512, eval_samples: 10}""",
    "lines": """\
model:
  type: bert
  options: {num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32, vocab_size: 200,
            task: masked_lm, mask_token: 103, special_tokens: [0, 101, 102, 103],
            mask_probability: 0.3}
data: {type: jsonl, train: train_lines.jsonl, sequence_length: 32}""",
}


def broken_rule(chosen):
    """The rule of the table that makes the choice illegal; None where it is legal."""
    return next(
        (r for r in LEGALITY if all(chosen[m] in values for m, values in r["illegal"].items())),
        None,
    )


def is_decided(chosen):
    """Whether stages keep anything for long enough to be copied depends on their micro-steps."""
    return "pipeline" not in chosen["parallel"] or chosen["memory.activation_offload"] == "none"


def draw(drawn):
    """Any values; of four recipes three are drawn on, where a rule is broken, until none is."""
    chosen = {method: drawn.choice(values) for method, values in METHODS.items()}
    if not is_decided(chosen):
        return draw(drawn)
    legal = drawn.random() < 0.75
    while legal and (rule := broken_rule(chosen)):
        method = drawn.choice(list(rule["illegal"]))
        chosen[method] = drawn.choice(METHODS[method])
    return chosen if is_decided(chosen) else draw(drawn)


def settings(chosen):
    """Of a change; the batch of all ranks is 8."""
    ranks = 2 if "zero" in chosen["parallel"] else 1  # with a batch of their own
    micro = chosen["batch.micro_batch_size"]
    given = chosen | {"batch.micro_batch_size": {"8": 8, "4": 4, "2": 2}.get(micro, micro)}
    if isinstance(given["batch.micro_batch_size"], int):
        given["batch.micro_batch_size"] //= ranks
    given["optimizer"] = chosen["optimizer"].replace("{type:", "{lr: 1e-2, type:", 1)
    return [
        f"{method}={value}"
        for method, value in given.items()
        if method in ("optimizer", "batch.micro_batch_size")
        or (method != "data.kind" and value != PLAIN[method])
    ]


def plain_of(chosen):
    """The run whose losses it has."""
    numbers = {method: chosen[method] for method in NUMBERS}
    if chosen["precision.master"] == "none":
        numbers["precision.master"] = "none"
    if "gradients: bf16" in chosen["memory.optimizer_offload"]:  # what updates read is rounded
        numbers["memory.optimizer_offload"] = chosen["memory.optimizer_offload"]
    return PLAIN | numbers


def relation(chosen):
    if (
        chosen["batch.micro_batch_size"] in ("8", "auto")
        and chosen["data.pad_to"] == "auto"
        and chosen["model.attention"] != "math"
        and "single" in chosen["parallel"]
    ):
        return {"equal": ["loss", "model"]}
    if chosen["precision.products"] == "fp8":  # scales are those of a micro-batch
        return {"within": {"loss": "2e-2"}}
    if chosen["precision.compute"] != "fp32":
        return {"within": {"loss": "1e-2"}}
    # a sign, or a code of 8 bits, falls on another side where sums round otherwise
    rounded = "lion" in chosen["optimizer"] or "8bit" in chosen["optimizer"]
    return {"within": {"loss": "1e-3" if rounded else "1e-5"}}


def change(chosen):
    rule = broken_rule(chosen)
    if rule:
        code = rule.get("code", 78)
        return {"set": settings(chosen), "refused": str(code), "names": rule["names"]}
    return {"set": settings(chosen), "base": settings(plain_of(chosen))} | relation(chosen)


def case(name, kind, choices, few):
    changes = [change(chosen) for chosen in choices if chosen["data.kind"] == kind]
    text = f"- name: {name}, {kind}\n  recipe: {kind}\n  few: {few}\n  changes:\n"
    return text + "".join(f"  - {json.dumps(one)}\n" for one in changes)


def rules():
    for rule in LEGALITY:
        for values in itertools.product(*rule["illegal"].values()):
            yield PLAIN | dict(zip(rule["illegal"], values))


def pairs(drawn):
    each = [(m, v) for m, values in METHODS.items() for v in dict.fromkeys(values)]
    both = itertools.combinations(each, 2)
    chosen = [PLAIN | dict(pair) for pair in both if pair[0][0] != pair[1][0]]
    chosen = [c for c in chosen if is_decided(c)]
    if LONG:
        return chosen
    words, lines = ([c for c in chosen if c["data.kind"] == kind] for kind in MODELS)
    return drawn.sample(words, 90) + drawn.sample(lines, 10)


def main():
    drawn = random.Random(int(sys.argv[1]))
    print("recipes:")
    for kind, model in MODELS.items():
        print(f"  {kind}: |")
        print("".join(f"    {line}\n" for line in RECIPE.replace("MODEL", model).splitlines()))
    print("cases:")
    found = {  # choices, and how many of words and of lines every run tries
        "the reason of each refusal": (list(rules()), (1000, 1000)),
        "pairs of methods": (pairs(drawn), (22, 3)),
        "random recipes": ([draw(drawn) for _ in range(2000 if LONG else 50)], (5, 5)),
    }
    for name, (choices, few) in found.items():
        legal = sum(broken_rule(chosen) is None for chosen in choices)
        print(f"# {name}: {legal} of {len(choices)} are legal")
        for kind, least in zip(MODELS, few):
            print(case(name, kind, choices, least), end="")


if __name__ == "__main__":
    main()
