"""Parameter groups and a moving average of the weights: the losses of transformers with groups of
torch.optim and requires_grad; what eval and export take of an average; memory that falls as
planned. tests/equality/groups.yaml has cuts, ranks, shards, offloading and resumed runs."""
import json
import math
import re
import shutil
import unittest

import reference
import tiny_families
from saved_tensors import in_folder
from support import BUDGET, Trainx, main, sampled, tiny, write_tokens
from zero_test import largest_difference

RECIPE = """\
run: {{name: hf, duration: 20 steps, device: cpu}}
model: {{init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
optimizer:
  type: adamw
  lr: 1e-3
  options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}
  ema_decay: {decay}
  groups: {groups}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""


def freeze(match, frozen=True):
    return {"match": match, "freeze": frozen}


# A family of tiny_families.py, and groups by names as its folder has them.
CASES = {
    "gpt2_lower": ("gpt2", [freeze("transformer.w*"), freeze("transformer.h.0.*"),
                            {"match": "*.bias", "weight_decay": 0.05},
                            {"match": "transformer.ln_f.*", "lr": 5e-3}]),
    "gpt2_biases": ("gpt2", [freeze("*"), freeze("*.bias", False)]),
    "gpt2_matrices": ("gpt2", [freeze("*.bias"), freeze("*ln_*")]),
    "gpt2_upper": ("gpt2", [freeze("transformer.h.1.*"), freeze("transformer.ln_f.*")]),
    "llama_lower": ("llama", [freeze("model.embed_tokens.*"), freeze("model.layers.0.*"),
                              {"match": "*layernorm*", "lr": 1e-2},
                              {"match": "lm_head.*", "lr_scale": 0.5, "weight_decay": 0}]),
    "llama_head": ("llama", [freeze("*"), freeze("lm_head.*", False),
                             freeze("model.norm.*", False)]),
    "llama_first": ("llama", [freeze("*"), freeze("model.layers.0.self_attn.*", False)]),
    "llama_norms": ("llama", [freeze("*"), freeze("*norm*", False)]),
    "llama_down": ("llama", [freeze("*"), freeze("*.down_proj.*", False)]),
    "tied": ("llama_tied", [freeze("model.embed_tokens.weight"),
                            {"match": "model.layers.0.*", "lr_scale": 0.1}]),
    "embedding": ("llama", [freeze("*"), freeze("model.embed_tokens.*", False)]),
    "decays": ("llama", [{"match": "*", "weight_decay": 0.3},
                         {"match": "model.layers.0.mlp.*", "weight_decay": 0}]),
}
TOLERANCE = 1e-5
CUTS = ((8, "none"), (2, "none"), (2, "full"), (4, "selective"), (2, "mlp"))
# Of TINY (GPT-2 from scratch).
TINY_GROUPS = [freeze("wte.weight"), freeze("h.0.*"), {"match": "*.bias", "lr_scale": 2}]
HALF = [freeze("w*"), freeze("h.0.*")]


def grouped(groups, more="", **how):
    """TINY with groups."""
    text = tiny(**how).replace("options: {weight_decay: 0.1}}",
                               f"options: {{weight_decay: 0.1}}, {more}groups: "
                               f"{json.dumps(groups)}}}")
    assert "groups" in text
    return text


class Groups(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.random.seed(3)             # as families_test.py: others may have a value beside a kink
        self.tokens = self.folder / "tokens.bin"
        self.one_thread = self.environment(OMP_NUM_THREADS="1")

    def decoder(self, *words):
        return reference.ask(self, "reference_decoder.py", "all",
                             asks=[[w if isinstance(w, int) else str(w) for w in words]])[0]

    def write_tokens(self):
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        write_tokens(self.tokens, [min(end - 1, first + int(self.random.expovariate(0.05)))
                                   for _ in range(20 * 8 * 32 + 1)])

    def latest(self, run):
        return in_folder(self.folder / "outputs" / run / "latest", "model")

    def states(self, run):
        return in_folder(self.folder / "outputs" / run / "latest", "optimizer")

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def train(self, recipe, run, *settings, **how):
        self.run_trainx("train", recipe, f"run.name={run}", *settings, env=self.one_thread, **how)
        return self.losses(run)

    def check_frozen(self, run, before, matches):
        """Tensors for which matches(name) holds have the bits of `before`, and others do not."""
        after = self.latest(run)
        self.assertEqual(before.keys(), after.keys())
        for name, tensor in after.items():
            self.assertEqual(tensor == before[name], matches(name), name)

    def plan(self, recipe, *settings):
        return json.loads(self.run_trainx("plan", recipe, "--json", *settings).stdout
                          .splitlines()[-1])

    @sampled
    @unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                         "transformers (scripts/setup --reference installs one)")
    def test_losses_are_those_of_torch_with_groups(self):
        self.write_tokens()
        cuts = list(self.drawn(CUTS, few=len(CUTS)))
        for number, (name, (family, groups)) in enumerate(self.drawn(CASES.items(), 3)):
            with self.subTest(case=name):
                folder = self.folder / name
                self.decoder("make", family, folder, 3)
                want = reference.ask(self, "reference_groups.py", folder, self.tokens,
                                     asks={"groups": groups})
                recipe = self.recipe(RECIPE.format(folder=folder, tokens=self.tokens, decay="null",
                                                   groups=json.dumps(groups)), f"{name}.yaml")
                frozen = {n.removeprefix("transformer.") for n in want["frozen"]}
                before = {n.removeprefix("transformer."): t
                          for n, t in in_folder(folder, "model").items()}
                # with a budget one cut of each: tests/equality/groups.yaml holds cuts together
                for micro, level in cuts if BUDGET is None else [cuts[number % len(cuts)]]:
                    run = f"{name}-{micro}-{level}"
                    got = self.train(recipe, run, f"batch.micro_batch_size={micro}",
                                     f"memory.activation_checkpoint={level}")
                    self.assertEqual(len(got), 20)
                    self.assertTrue(all(map(math.isfinite, got)), got)
                    worst = largest_difference(got, want["losses"])
                    print(f"  {run}: largest relative difference of losses {worst:.1e}")
                    self.assertLess(worst, TOLERANCE)
                    self.check_frozen(run, before, frozen.__contains__)

    def test_memory_falls_with_what_is_frozen(self):
        all_of_it = self.plan(self.recipe(tiny(precision="bf16")))
        half = self.plan(self.recipe(grouped(HALF, precision="bf16")))
        share = half["trained_parameters"] / half["parameters"]
        of = lambda plan, name: next(c["bytes"] for c in plan["memory"] if c["category"] == name)
        for category in ("gradients", "optimizer state", "master weights"):
            self.assertLess(of(half, category), 1.1 * share * of(all_of_it, category), category)
        self.assertEqual(of(half, "weights"), of(all_of_it, "weights"))
        self.assertLess(of(half, "activations"), of(all_of_it, "activations"))
        self.assertLess(half["flops_per_step"], 0.8 * all_of_it["flops_per_step"])
        self.assertIn(" trained)", self.run_trainx("plan", self.recipe(grouped(HALF))).stdout)

    @sampled
    def test_programs_for_gpus_follow(self):
        text = grouped(TINY_GROUPS, precision="bf16")
        cases = ((), ("memory.activation_checkpoint=full",),
                 ("parallel.mode=zero3", "parallel.world_size=2"),
                 ("optimizer.update_in_backward=true", "optimizer.max_grad_norm=0",
                  "batch.micro_batch_size=8"))
        for more in self.drawn(cases, few=2):
            told = self.run_trainx("plan", self.recipe(text), "--gpu", "h200", *more).stdout
            every = self.run_trainx("plan", self.recipe(tiny(precision="bf16")), "--gpu", "h200",
                                    *more).stdout
            count = lambda t: int(re.search(r"matrix products +(\d+)( and|$)", t, re.M)[1])
            self.assertLess(count(told), count(every))

    @unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                         "transformers (scripts/setup --reference installs one)")
    def test_an_average_is_that_of_torch(self):
        self.write_tokens()
        folder, want = self.folder / "llama", self.folder / "want"
        groups = [freeze("model.layers.0.*")]
        self.decoder("make", "llama", folder, 3)
        losses = reference.ask(self, "reference_groups.py", folder, self.tokens, want,
                               asks={"groups": groups, "ema": 0.9})["losses"]
        recipe = self.recipe(RECIPE.format(folder=folder, tokens=self.tokens, decay=0.9,
                                           groups=json.dumps(groups)))
        self.assertLess(largest_difference(self.train(recipe, "hf"), losses), TOLERANCE)
        self.run_trainx("export", "outputs/hf", "averaged", "--ema")
        self.run_trainx("export", "outputs/hf", "last")
        found = self.decoder("compare", want, self.folder / "averaged", self.tokens)
        print(f"  largest difference of logits {found['difference'] / found['largest']:.1e}")
        self.assertLess(found["difference"], 1e-4 * found["largest"])
        last = self.decoder("compare", want, self.folder / "last", self.tokens)
        self.assertGreater(last["difference"], 1e-2 * last["largest"])
        shutil.rmtree(self.folder / "outputs")
        self.train(self.recipe(tiny(steps=6)), "plain")
        self.refused("export", "outputs/plain", "none", "--ema", code=66,
                     names=["optimizer.ema_decay"])

    def test_an_average_is_what_eval_evaluates(self):
        text = grouped(HALF, "ema_decay: 0.8, ", steps=10, every=100, precision="bf16")
        recipe = self.recipe(text.replace("every: 20 steps", "every: 5 steps, weights: average"))
        disk = ("memory.parameter_offload=disk", "memory.optimizer_offload.where=disk")
        for run, *settings in (("plain",), ("disk", *disk)):
            self.train(recipe, run, *settings)
            told = json.loads(self.run_trainx("eval", f"outputs/{run}", "--json").stdout
                              .splitlines()[-1])
            self.assertEqual(told["eval_loss"], self.evals(run)[-1])
        self.assertEqual(self.losses("disk"), self.losses("plain"))
        self.assertEqual(self.states("disk"), self.states("plain"))
        averages = {n for n in self.states("plain") if n.startswith("ema.")}
        self.assertTrue(averages)
        self.assertFalse([n for n in averages if n.startswith(("ema.w", "ema.h.0."))])

    def evals(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]


if __name__ == "__main__":
    main()
