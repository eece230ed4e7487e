"""The kinds of runs that campaigns hurt: a recipe's model and settings, by name."""
import dataclasses
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = """\
run: {{name: whole, seed: 3, duration: 12 steps, deterministic: true, hang_limit: 4 s}}
model: {model}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
optimizer: {{type: adamw, lr: 0.3}}
schedule: {{type: constant, warmup: 2 steps}}
checkpoint: {{every: 2 steps, keep_last: 1}}
eval: {{every: 2 steps}}
metrics: {{every: 1 steps}}
"""
SIZES = "num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32"
GPT2 = f"{{type: gpt2, options: {{{SIZES}}}}}"
QWEN2 = f"{{type: qwen2, options: {{{SIZES}, num_key_value_heads: 1, intermediate_size: 64}}}}"
REFERENCE = os.environ.get("TRAINX_REFERENCE_PYTHON")
MAKE_GPT2 = """\
import sys
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(1)
GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=32, vocab_size=512,
                           attn_pdrop=0, resid_pdrop=0, embd_pdrop=0)).save_pretrained(sys.argv[1])
"""


def family(bench, folder):
    """A folder as Hugging Face has it, of another family."""
    recipe = folder / "family.yaml"
    recipe.write_text(RECIPE.format(model=QWEN2))
    for command in (["train", recipe, "run.duration=2 steps", f"run.output_dir={folder}/runs"],
                    ["export", folder / "runs" / "whole", folder / "family"]):
        done = bench.run(*command)
        if done.code != 0:
            raise RuntimeError(done.words())
    return f"{{type: qwen2, init_from: {folder}/family}}"


def exported(_bench, folder):
    """A model that scripts/trainx-export wrote."""
    for command in (["-c", MAKE_GPT2, folder / "module"],
                    [ROOT / "scripts" / "trainx-export", folder / "module", folder / "exported",
                     "--sequence-length", "32"]):
        done = subprocess.run([REFERENCE, *map(str, command)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
    return f"{{type: exported, init_from: {folder}/exported}}"


@dataclasses.dataclass(frozen=True)
class Variant:
    settings: tuple = ()
    model: object = GPT2                # or a function that makes it, (bench, folder) -> text
    ranks: int = 1


ZERO3 = ("parallel.mode=zero3", "parallel.world_size=2")
ASYNCHRONOUS = ("checkpoint.asynchronous=true",)
VARIANTS = {
    "one rank": Variant(),
    "asynchronous": Variant(ASYNCHRONOUS),
    "zero3 x 2": Variant(ZERO3, ranks=2),
    "zero3 x 2, asynchronous": Variant(ZERO3 + ASYNCHRONOUS, ranks=2),
    "disk offload": Variant(("memory.optimizer_offload=disk", "memory.parameter_offload=disk")),
    "a family's folder": Variant(ASYNCHRONOUS, family),
    **({"exported": Variant((), exported)} if REFERENCE else {}),
}


def prepare(bench, folder):
    """Writes a recipe for each model that variants have; {variant: its recipe}."""
    recipes = {}
    for model in {variant.model for variant in VARIANTS.values()}:
        text = model if isinstance(model, str) else model(bench, folder)
        recipe = folder / f"{'gpt2' if isinstance(model, str) else model.__name__}.yaml"
        recipe.write_text(RECIPE.format(model=text))
        recipes.update({name: recipe for name, variant in VARIANTS.items()
                        if variant.model is model})
    return recipes
