"""Mixtures of experts on a GPU: the CPU's losses in every precision, with the loss that keeps
experts
busy, memory as planned, and the same bits after a resume and with recomputation.
families_gpu_test.py compares them with transformers.
"""
import json
import math
import shutil

from gpu_checks import GpuChecks, in_parts, needs_gpus, part_of
from support import Trainx, main, sha256

RECIPE = """\
run: {{name: r, seed: {seed}, duration: 20 steps}}
model: {model}
data: {{type: stories, sequence_length: 32, samples: 256, eval_samples: 16}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3}}
schedule: {{type: constant}}
checkpoint: {{every: 10 steps, keep_last: 9}}
metrics: {{every: 1 steps}}
"""
OPTIONS = ("{{type: {family}, options: {{num_layers: 2, num_heads: 2, num_key_value_heads: 2, "
           "hidden_size: {hidden}, intermediate_size: {width}, max_positions: 32}}}}")
# rows of whole pieces of 16 bytes, and odd ones
FAMILIES = {"mixtral": (64, 96), "olmoe": (64, 40), "granitemoe": (32, 50)}
# Of ten steps; a choice of experts may turn on a rounding.
TOLERANCE = {"fp32": 5e-5, "tf32": 5e-3, "bf16": 1e-2, "fp16": 5e-3}


@needs_gpus(1)
class ExpertsOnGpu(GpuChecks, Trainx):
    on_gpu = True

    def setUp(self):
        super().setUp()
        self.seed = self.random.randrange(1000)

    def write(self, family):
        hidden, width = FAMILIES[family]
        self.model(OPTIONS.format(family=family, hidden=hidden, width=width))

    def model(self, model):
        self.recipe(RECIPE.format(seed=self.seed, model=model), "r.yaml")

    def train(self, name, *settings):
        self.run_trainx("train", "r.yaml", f"run.name={name}", *settings)
        return [m["loss"] for m in self.metrics(name)]

    def latest(self, name):
        return self.folder / "outputs" / name / "latest"

    def check_losses(self, got, wants, precision, what):
        """One of `wants`: where two experts are chosen all but alike, the order of sums decides,
        so that those of the CPU differ too, by how the batch is cut."""
        self.assertEqual(len(got), 20)
        self.assertTrue(all(map(math.isfinite, got)), got)
        self.assertLess(got[-1], got[0])
        apart = min(([abs(g / w - 1) for g, w in list(zip(got, want))[:10]] for want in wants),
                    key=max)
        worst = max(apart)
        print(f"  {what} {precision}: largest relative difference of losses {worst:.1e}")
        if worst >= TOLERANCE[precision]:
            print("   by step:", *(f"{x:.1e}" for x in apart))
        self.assertLess(worst, TOLERANCE[precision])

    def compare(self, what):
        smaller = ("batch.micro_batch_size=2",)
        if "balanced" in what:                  # that loss depends on the cut
            smaller = ()
        wants = [self.train(f"{what}-cpu", "run.device=cpu")]
        if smaller:
            wants.append(self.train(f"{what}-cpu-cut", "run.device=cpu", *smaller))
        for precision in TOLERANCE:
            for cut in ((), (*smaller, "memory.activation_checkpoint=full")):
                with self.subTest(what=what, precision=precision, cut=cut):
                    run = f"{what}-{precision}{'-cut' if cut else ''}"
                    got = self.train(run, "run.device=gpu", f"precision={precision}", *cut)
                    self.check_losses(got, wants, precision, run)
                    self.check_memory(run)

    @in_parts(3)
    def test_losses_are_those_of_the_cpu(self):
        for family in part_of(FAMILIES):
            self.write(family)
            self.compare(family)

    def test_experts_of_gpt2_have_the_losses_of_the_cpu(self):
        self.model("{type: gpt2, options: {num_layers: 4, num_heads: 2, hidden_size: 64, "
                   "max_positions: 32, num_experts: 4, capacity_factor: 0}}")
        self.compare("gpt2-balanced")

    def test_experts_of_gpt2_drop_the_choices_that_the_cpu_drops(self):
        self.model("{type: gpt2, options: {num_layers: 4, num_heads: 2, hidden_size: 64, "
                   "max_positions: 32, num_experts: 4, num_experts_per_tok: 2, "
                   "capacity_factor: 0.75}}")
        self.compare("gpt2-capped-balanced")
        dropped = {run: [m["dropped_tokens"] for m in self.metrics(run)][:5]
                   for run in ("gpt2-capped-balanced-cpu", "gpt2-capped-balanced-fp32")}
        cpu, gpu = dropped.values()
        self.assertTrue(all(cpu))
        for want, got in zip(cpu, gpu):
            self.assertAlmostEqual(got, want, delta=2)          # a choice may turn on a rounding

    @in_parts(2)
    def test_the_loss_that_keeps_experts_busy_is_that_of_the_cpu(self):
        # weights that are a softmax of all scores, and of those that are chosen
        for family in part_of(("mixtral", "granitemoe")):
            self.write(family)
            self.train(f"{family}-begin", "run.device=cpu", "run.duration=1 steps")
            start = self.folder / f"{family}-start"
            shutil.copytree(self.latest(f"{family}-begin"), start)
            config = json.loads((start / "config.json").read_text())
            config |= {"output_router_logits": True, "router_aux_loss_coef": 0.5}
            (start / "config.json").write_text(json.dumps(config))
            (start / "manifest.json").unlink()      # which knows the old one
            plain = self.train(f"{family}-plain", "run.device=cpu")
            self.model(f"{{init_from: {start}}}")
            self.compare(f"{family}-balanced")
            # it is there
            first = self.metrics(f"{family}-balanced-cpu")[0]["loss"]
            self.assertGreater(first, plain[0] + 0.1)

    def test_the_loss_that_keeps_logits_small_is_that_of_the_cpu(self):
        for family in ("olmoe", "granitemoe"):
            self.write(family)
            plain = self.train(f"{family}-plain", "run.device=cpu")
            recipe = (self.folder / "r.yaml").read_text()
            small = recipe.replace("max_positions: 32", "max_positions: 32, router_z_loss: 0.5")
            self.assertNotEqual(small, recipe)
            (self.folder / "r.yaml").write_text(small)
            self.compare(f"{family}-z-balanced")    # means are of a micro-batch: it has no cuts
            first = self.metrics(f"{family}-z-balanced-cpu")[0]["loss"]
            self.assertGreater(first, plain[0] + 0.1)

    def test_biases_that_balance_experts_move_as_on_the_cpu(self):
        rate = 0.0625
        self.model(OPTIONS.replace("max_positions: 32", f"max_positions: 32, router_bias_rate: "
                                   f"{rate}").format(family="dots1", hidden=64, width=40))
        loads = {}
        for device in ("cpu", "gpu"):
            losses = self.train(f"{device}-moved", f"run.device={device}")
            loads[device] = [m["expert_load_entropy"] for m in self.metrics(f"{device}-moved")]
            if device == "gpu":
                self.check_losses(losses, [want], "fp32", "biases")
                self.check_memory("gpu-moved")
            want = losses
        for got, known in list(zip(loads["gpu"], loads["cpu"]))[:5]:
            self.assertAlmostEqual(got, known, delta=0.01)      # a choice may turn on a rounding
        still = self.train("still", "run.device=gpu", "model.options.router_bias_rate=0")
        self.assertNotEqual(still, want)

    def test_the_same_bits_after_a_resume_and_with_recomputation(self):
        for family, precision in (("olmoe", "bf16"), ("granitemoe", "fp32")):
            self.write(family)
            fixed = ("run.device=gpu", "run.deterministic=true", f"precision={precision}")

            def weights(name):
                return sha256(self.latest(name) / "model.safetensors")

            losses = self.train(f"{family}-whole", *fixed)
            want = weights(f"{family}-whole")
            for end, more in (("again", ()), ("eager", ("run.execution=eager",)),
                              ("full", ("memory.activation_checkpoint=full",)),
                              ("selective", ("memory.activation_checkpoint=selective",))):
                with self.subTest(family=family, end=end):
                    self.train(f"{family}-{end}", *fixed, *more)
                    self.assertEqual(weights(f"{family}-{end}"), want)
            self.train(f"{family}-halves", *fixed, "run.duration=10 steps")
            self.assertEqual(self.train(f"{family}-halves", *fixed), losses)
            self.assertEqual(weights(f"{family}-halves"), want)


if __name__ == "__main__":
    main()
