"""Parameter groups and a moving average of the weights: the losses of transformers with groups of
torch.optim and requires_grad, however the batch is cut, whatever is recomputed and on however many
ranks; frozen tensors that keep their bits; memory that falls as planned."""
import array
import json
import math
import re
import shutil
import unittest

import reference
import tiny_families
from support import Trainx, main, sampled, tiny, write_tokens
from zero_test import largest_difference, tensors

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
    "llama_head": ("llama", [freeze("*"), freeze("lm_head.*", False), freeze("model.norm.*", False)]),
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
OPTIMIZERS = ("adamw", "adam", "sgd", "adagrad", "lion", "lamb", "adafactor", "adamw_8bit",
              "adamw_anyprecision")
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
        return tensors(self.folder / "outputs" / run / "latest")

    def states(self, run):
        return tensors(self.folder / "outputs" / run / "latest", "optimizer")

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
        for name, (family, groups) in self.drawn(CASES.items(), 3):
            with self.subTest(case=name):
                folder = self.folder / name
                self.decoder("make", family, folder, 3)
                want = reference.ask(self, "reference_groups.py", folder, self.tokens,
                                     asks={"groups": groups})
                recipe = self.recipe(RECIPE.format(folder=folder, tokens=self.tokens, decay="null",
                                                   groups=json.dumps(groups)), f"{name}.yaml")
                frozen = {n.removeprefix("transformer.") for n in want["frozen"]}
                before = {n.removeprefix("transformer."): t for n, t in tensors(folder).items()}
                for micro, level in CUTS:
                    run = f"{name}-{micro}-{level}"
                    got = self.train(recipe, run, f"batch.micro_batch_size={micro}",
                                     f"memory.activation_checkpoint={level}")
                    self.assertEqual(len(got), 20)
                    self.assertTrue(all(map(math.isfinite, got)), got)
                    worst = largest_difference(got, want["losses"])
                    print(f"  {run}: largest relative difference of losses {worst:.1e}")
                    self.assertLess(worst, TOLERANCE)
                    self.check_frozen(run, before, frozen.__contains__)

    def test_ranks_and_shards_train_as_one(self):
        recipe = self.recipe(grouped(TINY_GROUPS, steps=10))
        want = self.train(recipe, "one")
        for mode in ("ddp", "zero1", "zero2", "zero3", "dp"):
            with self.subTest(mode=mode):
                got = self.train(recipe, mode, f"parallel.mode={mode}", "parallel.world_size=2")
                self.assertLess(largest_difference(got, want), 1e-6)
                self.assertEqual(self.latest(mode).keys(), self.latest("one").keys())
                self.assertEqual(self.states(mode).keys(), self.states("one").keys())
                for name, tensor in self.latest("one").items():
                    if name == "wte.weight" or name.startswith("h.0."):
                        self.assertEqual(self.latest(mode)[name], tensor, name)

    def test_memory_settings_train_alike(self):
        recipe = self.recipe(grouped(TINY_GROUPS, steps=10, precision="bf16"))
        want = self.train(recipe, "plain")
        for run, *settings in (
                ("backward", "optimizer.update_in_backward=true", "optimizer.max_grad_norm=0",
                 "batch.micro_batch_size=8"),
                ("cpu", "memory.optimizer_offload.where=cpu"),
                ("disk", "memory.optimizer_offload.where=disk"),
                ("weights", "memory.parameter_offload=cpu"),
                ("both", "memory.parameter_offload=disk", "memory.optimizer_offload.where=disk")):
            with self.subTest(run=run):
                base = want
                if run == "backward":
                    base = self.train(recipe, "unclipped", *settings[1:])
                got = self.train(recipe, run, *settings)
                self.assertEqual(got, base)
                self.assertEqual(self.latest(run), self.latest("unclipped" if run == "backward"
                                                               else "plain"))

    @sampled
    def test_every_optimizer_in_every_precision_leaves_frozen_tensors_alone(self):
        cases = [(o, p) for o in OPTIMIZERS for p in ("fp32", "bf16", "fp16")]
        for optimizer, precision in self.drawn(cases, 4):
            with self.subTest(optimizer=optimizer, precision=precision):
                name = f"{optimizer}-{precision}"
                recipe = self.recipe(grouped(HALF, steps=2, every=1, precision=precision)
                                     .replace("adamw", optimizer).replace("cosine, warmup: 5 steps",
                                                                          "constant")
                                     .replace("weight_decay: 0.1}", "weight_decay: 0.1" + (
                                         ", relative_step: false}" if optimizer == "adafactor"
                                         else "}")),
                                     f"{name}.yaml")
                self.train(recipe, name)
                first = tensors(self.folder / "outputs" / name / "checkpoint-1")
                states = self.states(name)
                for tensor, value in self.latest(name).items():
                    frozen = tensor.startswith(("w", "h.0."))
                    self.assertTrue(not frozen or value == first[tensor], tensor)
                    self.assertFalse(frozen and any(s.endswith("." + tensor) for s in states))

    def test_train_ten_equals_train_five_and_resume_five(self):
        recipe = self.recipe(grouped(TINY_GROUPS, "ema_decay: 0.9, ", steps=10, every=100))
        self.train(recipe, "ten")
        self.train(recipe, "five", "run.duration=5 steps")
        self.train(recipe, "five")
        self.assertEqual(self.losses("five"), self.losses("ten"))
        self.assertEqual(self.latest("five"), self.latest("ten"))
        self.assertEqual(self.states("five"), self.states("ten"))
        # groups are a part of the run
        self.refused("train", recipe, "run.name=ten", "run.duration=12 steps",
                     "optimizer.ema_decay=0.5", names=["optimizer.ema_decay"])
        other = self.recipe(grouped(TINY_GROUPS[:2], "ema_decay: 0.9, ", steps=12), "other.yaml")
        self.refused("train", other, "run.name=ten", names=["optimizer.groups[2].match"])

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

    def test_programs_for_gpus_follow(self):
        text = grouped(TINY_GROUPS, precision="bf16")
        for more in ((), ("memory.activation_checkpoint=full",), ("parallel.mode=zero3",
                     "parallel.world_size=2"), ("optimizer.update_in_backward=true",
                     "optimizer.max_grad_norm=0", "batch.micro_batch_size=8")):
            told = self.run_trainx("plan", self.recipe(text), "--gpu", "h200", *more).stdout
            every = self.run_trainx("plan", self.recipe(tiny(precision="bf16")), "--gpu", "h200",
                                    *more).stdout
            count = lambda t: int(re.search(r"matrix products +(\d+)( and|$)", t, re.M)[1])
            self.assertLess(count(told), count(every))

    def test_groups_that_cannot_be_are_refused(self):
        for groups, words in (
                ([freeze("h.2.*")], ["optimizer.groups[0].match", "h.2.*", "h.0.attn.c_attn.weight"]),
                ([freeze("wte.wieght")], ["wte.wieght", "wte.weight"]),
                ([freeze("*")], ["freeze: false"]),
                ([{"match": "*", "lr": 1, "lr_scale": 2}], ["optimizer.groups[0].lr_scale"]),
                ([{"match": "*"}], ["optimizer.groups[0]"]),
                ([{"match": "*.bias", "freeze": True, "lr": 1}], ["optimizer.groups[0].freeze"])):
            with self.subTest(groups=groups):
                self.refused("plan", self.recipe(grouped(groups)), names=words)
        self.refused("plan", self.recipe(grouped([{"freeze": True}])), key="optimizer.groups[0].match")
        self.refused("plan", self.recipe(grouped([{"match": "*", "frozen": True}])),
                     key="optimizer.groups[0].frozen")
        llama = re.sub("model: .*", "model: {type: llama, options: {num_layers: 2, num_heads: 2, "
                       "hidden_size: 32, max_positions: 32}}", grouped([freeze("*.q_proj.weight")]))
        self.refused("plan", self.recipe(llama),
                     names=["freeze", "model.layers.0.self_attn.q_proj.weight"])
        self.refused("plan", self.recipe(tiny()), "eval.weights=average", names=["eval.weights",
                                                                               "optimizer.ema_decay"])

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
        self.refused("export", "outputs/plain", "none", "--ema", code=66, names=["optimizer.ema_decay"])

    def test_an_average_is_evaluated_saved_and_sharded(self):
        text = grouped(HALF, "ema_decay: 0.8, ", steps=20, precision="bf16")
        recipe = self.recipe(text)
        evals = {}
        for weights in ("current", "average"):
            self.train(recipe, weights, f"eval.weights={weights}")
            lines = map(json.loads, (self.folder / "outputs" / weights / "metrics.jsonl").read_text()
                        .splitlines())
            evals[weights] = [m["eval_loss"] for m in lines if "eval_loss" in m]
        self.assertEqual(self.losses("current"), self.losses("average"))
        self.assertEqual(self.states("current"), self.states("average"))
        self.assertNotEqual(evals["current"], evals["average"])
        averages = {n for n in self.states("average") if n.startswith("ema.")}
        self.assertTrue(averages)
        self.assertFalse([n for n in averages if n.startswith(("ema.w", "ema.h.0."))])
        for mode in ("zero1", "zero3", "ddp"):
            self.train(recipe, mode, f"parallel.mode={mode}", "parallel.world_size=2")
            self.assertEqual(self.states(mode).keys(), self.states("average").keys())
        self.train(recipe, "offloaded", "memory.optimizer_offload.where=cpu")
        self.assertEqual(self.states("offloaded"), self.states("average"))
        # an average that has not left the weights is the weights
        self.train(recipe, "same", "optimizer.ema_decay=0", "eval.weights=average",
                   "precision.compute=fp32")
        self.train(recipe, "exact", "precision.compute=fp32")
        lines = lambda run: [json.loads(line).get("eval_loss") for line in (
            self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(lines("same"), lines("exact"))

    def evals(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]

    def averages(self, run):
        """Elements by name."""
        found = {name.removeprefix("ema."): array.array("f", tensor[2]) for name, tensor
                 in self.states(run).items() if name.startswith("ema.")}
        self.assertTrue(found)
        return found

    def check_averages(self, got, want, tolerance):
        self.assertEqual(got.keys(), want.keys())
        worst = 0
        for name, tensor in want.items():
            largest = max(map(abs, tensor))
            apart = max(abs(g - w) for g, w in zip(got[name], tensor, strict=True))
            self.assertTrue(apart <= tolerance * largest, (name, apart, largest))  # NaN is not
            worst = max(worst, apart / largest if largest else 0)
        return worst

    def test_an_average_in_shards_is_that_of_one_rank(self):
        recipe = self.recipe(grouped(HALF, "ema_decay: 0.8, ", steps=10, every=100)
                             .replace("every: 20 steps", "every: 5 steps, weights: average"))
        self.train(recipe, "one")
        want, evals = self.averages("one"), self.evals("one")
        self.assertEqual(len(evals), 2)
        for mode, *more in (("ddp",), ("dp",), ("zero1",), ("zero2",), ("zero3",),
                            ("zero1", "memory.optimizer_offload.where=disk"),
                            ("zero3", "memory.optimizer_offload.where=cpu",
                             "memory.parameter_offload=cpu")):
            with self.subTest(mode=mode, more=more):
                run = "-".join([mode, *(m.rpartition("=")[2] for m in more)])
                self.train(recipe, run, f"parallel.mode={mode}", "parallel.world_size=2", *more)
                worst = self.check_averages(self.averages(run), want, 1e-6)
                self.assertLess(largest_difference(self.evals(run), evals), 1e-6)
                print(f"  {run}: largest difference of averages {worst:.1e} of the largest")

    def test_an_average_elsewhere_is_that_in_memory(self):
        text = grouped(HALF, "ema_decay: 0.8, ", steps=10, every=100, precision="bf16")
        recipe = self.recipe(text.replace("every: 20 steps", "every: 5 steps, weights: average"))
        self.train(recipe, "plain")
        for run, *settings in (
                ("cpu", "memory.optimizer_offload.where=cpu"),
                ("disk", "memory.optimizer_offload.where=disk"),
                ("share", "memory.optimizer_offload.where=cpu",
                 "memory.optimizer_offload.share=0.5"),
                ("weights", "memory.parameter_offload=disk"),
                ("both", "memory.parameter_offload=disk", "memory.optimizer_offload.where=disk")):
            with self.subTest(run=run):
                self.train(recipe, run, *settings)
                self.assertEqual(self.states(run), self.states("plain"))
                self.assertEqual(self.evals(run), self.evals("plain"))
                told = json.loads(self.run_trainx("eval", f"outputs/{run}", "--json").stdout
                                  .splitlines()[-1])
                self.assertEqual(told["eval_loss"], self.evals(run)[-1])

    def test_an_average_in_shards_resumes_as_if_it_had_not_stopped(self):
        recipe = self.recipe(grouped(HALF, "ema_decay: 0.8, ", steps=10, every=100)
                             .replace("every: 20 steps", "every: 5 steps, weights: average"))
        how = ("parallel.mode=zero3", "parallel.world_size=2", "memory.optimizer_offload.where=cpu")
        self.train(recipe, "ten", *how)
        self.train(recipe, "five", "run.duration=5 steps", *how)
        self.train(recipe, "five", *how)
        self.assertEqual(self.states("five"), self.states("ten"))
        self.assertEqual(self.evals("five"), self.evals("ten"))
        # shards of two ranks are read by one
        self.train(recipe, "two", "run.duration=5 steps", *how)
        self.train(recipe, "two")
        self.check_averages(self.averages("two"), self.averages("ten"), 1e-6)


if __name__ == "__main__":
    main()
