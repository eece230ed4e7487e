"""What a case of the net is, and the recipes that cases vary."""

import dataclasses

STEPS = 20
SIZES = "num_heads: 2, hidden_size: 32, max_positions: 32"
# Sections of every recipe, unless a case has its own.
SECTIONS = {
    "run": f"{{name: run, seed: 7, duration: {STEPS} steps, deterministic: true}}",
    "batch": "{global_batch_size: 8, micro_batch_size: 4}",
    "optimizer": "{type: adamw, lr: 3e-3, options: {weight_decay: 0.1}}",
    "schedule": "{type: cosine, warmup: 5 steps}",
    "checkpoint": f"{{every: {STEPS} steps, keep_last: 1}}",
    "eval": "{every: 10 steps, batches: 2}",
    "metrics": "{every: 1 steps}",
    "parallel": "{mode: single}",
}
STORIES = "{type: stories, sequence_length: 32, samples: 512, eval_samples: 16}"


def jsonl(name, length=32, more=""):
    return (
        f"{{type: jsonl, train: train_{name}.jsonl, eval: held_{name}.jsonl, "
        f"sequence_length: {length}{more}}}"
    )


# Ids of BERT's published vocabulary.
MASKS = "mask_token: 103, special_tokens: [0, 101, 102, 103]"

# Model and data by name; data.py writes the files.
MODELS = {
    "gpt2": (f"{{type: gpt2, options: {{num_layers: 3, {SIZES}, dropout: 0.1}}}}", STORIES),
    "packed": (
        f"{{type: gpt2, options: {{num_layers: 2, {SIZES}, vocab_size: 200}}}}",
        jsonl("packed", more=", packed: true"),
    ),
    "bert": (
        f"{{type: bert, options: {{num_layers: 3, {SIZES}, vocab_size: 200, dropout: 0.1, "
        f"task: masked_lm, {MASKS}, mask_probability: 0.3}}}}",
        jsonl("lines", more=", pad_to: [16, 32], group_by_length: true"),
    ),
    "pairs": (
        f"{{type: bert, options: {{num_layers: 2, {SIZES}, vocab_size: 200, dropout: 0.1, "
        "task: classification, num_labels: 3}}",
        jsonl("pairs"),
    ),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A recipe and what is done with it: it is planned for each of `gpus` ("": for the CPU) and
    rank of `ranks`, and unless it is a plan alone it is trained on the CPU."""

    sections: dict
    settings: tuple = ()
    gpus: tuple = ("", "h200")
    ranks: tuple = (0,)
    worker: str = ""  # program in the build's tests/ that has the model; "": trainx's own
    facts: dict | None = None  # of the machine, beside print_plan's own
    fallback: tuple = ()  # weights whose products have fallen back from fp8
    trains: bool = True
    refused: bool = False  # there is no plan, and a sentence says why

    def recipe(self):
        return "".join(f"{name}: {text}\n" for name, text in self.sections.items())

    def plans(self):
        """For print_plan: name of the kind -> the case."""
        for gpu in self.gpus:
            for rank in self.ranks:
                kind = (f"{gpu}, " if gpu else "") + (f"rank {rank}, " if rank else "")
                plan = {"recipe": self.recipe(), "settings": list(self.settings)}
                plan |= {"gpu": gpu} if gpu else {}
                plan |= {"rank": rank} if rank else {}
                plan |= {"facts": self.facts} if self.facts else {}
                plan |= {"fallback": list(self.fallback)} if self.fallback else {}
                yield kind, plan


def case(model, *settings, **more):
    """Of MODELS or (model, data). `more`: sections of the recipe, or members of Case."""
    text, data = MODELS[model] if isinstance(model, str) else model
    members = {k: more.pop(k) for k in list(more) if k in Case.__dataclass_fields__}
    sections = {"run": SECTIONS["run"], "model": text, "data": data} | SECTIONS | more
    return Case(sections, tuple(settings), **members)


def planned(model, *settings, gpus=("h200",), **more):
    """A plan alone."""
    return case(model, *settings, gpus=gpus, trains=False, **more)


def ranks(mode, world, micro=2, more=""):
    return (
        f"parallel={{mode: {mode}, world_size: {world}{more}}}",
        f"batch.micro_batch_size={micro}",
    )


BF16, FP16, WHOLE = "precision.compute=bf16", "precision.compute=fp16", "batch.micro_batch_size=8"
