"""Mixtures of experts: ranks, cuts of the batch and recomputation have the losses of one run; what a
plan says of parameters and memory, on CPUs and GPUs. families_test.py compares them with
transformers.
"""
import json

from support import Trainx, main, sampled

RECIPE = """\
run: {{name: r, seed: {seed}, duration: 12 steps, deterministic: true}}
model: {{type: {family}, options: {{{options}}}}}
data: {{type: stories, sequence_length: 32, samples: 256, eval_samples: 16}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: fp32
optimizer: {{type: adamw, lr: 3e-3}}
schedule: {{type: constant}}
checkpoint: {{every: 6 steps, keep_last: 9}}
metrics: {{every: 1 steps}}
"""
SIZES = ("num_layers: 2, num_heads: 2, num_key_value_heads: 2, hidden_size: 32, "
         "intermediate_size: 24, max_positions: 32")
# of the published size: experts, and those of a token
FAMILIES = {"mixtral": (8, 2), "olmoe": (64, 8), "granitemoe": (32, 8)}


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


class Experts(Trainx):
    def write(self, family="mixtral", options=SIZES):
        self.recipe(RECIPE.format(seed=self.random.randrange(1000), family=family,
                                  options=options), "r.yaml")

    def train(self, name, *settings, **how):
        one_thread = self.environment(OMP_NUM_THREADS="1")
        self.run_trainx("train", "r.yaml", f"run.name={name}", *settings, env=one_thread, **how)
        return [m["loss"] for m in self.metrics(name)]

    def plan(self, *settings):
        return json.loads(self.run_trainx("plan", "r.yaml", "--json",
                                          *settings).stdout.splitlines()[-1])

    @sampled
    def test_ranks_have_the_losses_of_one(self):
        for family in self.drawn(tuple(FAMILIES)):
            self.write(family)
            want = self.train(f"{family}-one")
            self.assertLess(want[-1], want[0])
            for mode in ("ddp", "zero1", "zero3"):
                with self.subTest(family=family, mode=mode):
                    got = self.train(f"{family}-{mode}", "parallel.world_size=2",
                                     f"parallel.mode={mode}")
                    self.assertLess(largest_difference(got, want), 1e-6)

    @sampled
    def test_cuts_and_recomputation_have_the_losses_of_the_plain_run(self):
        for family in self.drawn(tuple(FAMILIES)):
            self.write(family)
            want = self.train(f"{family}-plain")
            for number, settings in enumerate((
                    ["batch.micro_batch_size=1"], ["batch.micro_batch_size=8"],
                    ["memory.activation_checkpoint=selective"],
                    ["memory.activation_checkpoint=mlp"],
                    ["memory.activation_checkpoint=full"])):
                with self.subTest(family=family, settings=settings):
                    got = self.train(f"{family}-{number}", *settings)
                    self.assertLess(largest_difference(got, want), 1e-6)
                    if settings[0].startswith("memory"):    # the same rows: the same choice
                        self.assertEqual(got, want)

    @sampled
    def test_a_run_that_is_resumed_has_the_losses_of_one_that_is_not(self):
        family = self.drawn(tuple(FAMILIES))[0]
        self.write(family)
        want = self.train("whole")
        self.assertEqual(self.train("cut", "run.duration=6 steps"), want[:6])
        self.assertEqual(self.train("cut"), want)

    def test_16_bits_learn_what_32_do(self):
        self.write("olmoe")
        want = self.train("fp32")
        got = self.train("bf16", "precision=bf16")
        self.assertLess(largest_difference(got, want), 0.03)
        self.assertLess(got[-1], got[0])

    def test_a_plan_counts_the_parameters_that_compute_a_token(self):
        for family, (experts, per_token) in FAMILIES.items():
            with self.subTest(family=family):
                self.write(family)
                plan = self.plan()
                of_experts = 2 * experts * 3 * 32 * 24          # layers, experts, products
                self.assertEqual(plan["parameters"] - plan["active_parameters"],
                                 of_experts * (experts - per_token) / experts)
        self.write("llama")
        self.assertNotIn("active_parameters", self.plan())

    def test_gpus_have_kernels(self):
        for family, (_, per_token) in FAMILIES.items():
            for precision in ("fp32", "bf16", "fp16"):
                with self.subTest(family=family, precision=precision):
                    self.write(family)
                    plan = self.plan("--gpu", "h100", "run.device=gpu", f"precision={precision}")
                    self.assertGreater(plan["budget_bytes"], 75e9)  # the GPU's
                    # the same parameters and products as on a CPU
                    on_cpu = self.plan()
                    for key in ("parameters", "active_parameters"):
                        self.assertEqual(plan[key], on_cpu[key])


if __name__ == "__main__":
    main()
