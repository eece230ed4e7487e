"""Mixtures of experts: what metrics tell of loads, losses of routers, corrections that balance, and
what a plan says of parameters and memory, on CPUs and GPUs. tests/equality/experts.yaml holds cuts,
ranks and resumed runs together; families_test.py compares with transformers.
"""
import json
import math
import random
import re
import struct
from statistics import mean

import expert_folders
import saved_tensors
from expert_folders import BIAS, START
from support import Trainx, main, sampled, write_tokens

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
    forks = True

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

    def test_metrics_tell_how_loads_are_spread(self):
        self.write("mixtral")
        losses = self.train("one")
        self.assertLess(losses[-1], losses[0])
        ranks = ("parallel.world_size=2", "parallel.mode=zero3")
        self.train("two", *ranks)
        # A token takes all experts: else rounding decides where two are alike, once in 80 runs.
        every = ("model.options.num_experts=4", "model.options.num_experts_per_tok=4")
        self.assertLess(largest_difference(self.train("every-two", *every, *ranks),
                                           self.train("every-one", *every)), 1e-6)
        keys = ("expert_load_max", "expert_load_entropy", "dropped_tokens")
        for name in ("one", "two"):
            for line in self.metrics(name):
                self.assertEqual(line["dropped_tokens"], 0)
                # 2 of 8 experts: an expert has at most every token, 4 times the mean
                self.assertTrue(1 < line["expert_load_max"] <= 4, line)
                self.assertTrue(math.log(2) / math.log(8) - 1e-9 <= line["expert_load_entropy"] < 1,
                                line)
        self.run_trainx("report", "outputs/one", "--out", "one.html")
        self.assertIn("expert_load_max", (self.folder / "one.html").read_text())
        self.write("llama")
        self.train("dense", "run.duration=1 steps")
        self.assertFalse(set(keys) & self.metrics("dense")[-1].keys())

    @sampled
    def test_the_process_takes_what_the_plan_says_however_tokens_are_routed(self):
        sizes = ("num_layers: 2, num_heads: 4, num_key_value_heads: 2, hidden_size: 64, "
                 "intermediate_size: 128, max_positions: 32")
        cases = [(family, precision) for precision in ("bf16", "fp16", "fp32")
                 for family in (*FAMILIES, "gpt2")]
        for number, (family, precision) in enumerate(self.drawn(cases, few=3)):
            with self.subTest(family=family, precision=precision):
                gpt2 = ("num_layers: 2, num_heads: 4, hidden_size: 64, max_positions: 32, "
                        "num_experts: 4")
                self.write(family, gpt2 if family == "gpt2" else sizes)
                settings = [f"precision={precision}", "batch.micro_batch_size=8",
                            "run.duration=60 steps", "checkpoint.every=60 steps"]
                planned = self.plan(*settings)["total_bytes"]
                name = f"m{number}"
                self.run_trainx("train", "r.yaml", f"run.name={name}", *settings)
                taken = max(m["device_memory_bytes"] for m in self.metrics(name))
                print(f"  {family} {precision}: {taken / 2**20:.0f} of {planned / 2**20:.0f} MiB")
                self.assertLess(taken, planned)

    def test_a_loss_of_log_sums_is_training_s_alone(self):
        self.write("olmoe")
        small = "model.options.initializer_range=0.005"
        want = self.train("plain", small, "eval.every=6 steps")
        got = self.train("z", small, "eval.every=6 steps", "model.options.router_z_loss=0.5")
        half = self.train("half", small, "model.options.router_z_loss=0.25", "run.duration=1 steps")
        # of small logits: log(64)^2 of 64 experts
        self.assertLess(abs(got[0] - want[0] - 0.5 * math.log(64) ** 2), 0.02)
        self.assertLess(abs(2 * (half[0] - want[0]) - (got[0] - want[0])), 1e-5)
        self.assertLess(got[-1] - want[-1], got[0] - want[0])       # it is learned
        evaluated = [[m["eval_loss"] for m in self.all_metrics(n) if "eval_loss" in m]
                     for n in ("plain", "z")]
        # small again: without the loss, whose weights are others by then
        self.assertLess(abs(evaluated[0][0] - evaluated[1][0]), 0.5)

    @sampled
    def test_a_recipe_sets_how_many_experts_there_are(self):
        """config.json of the run says so, and is what the run reads when it goes on."""
        for family, key in self.drawn((("mixtral", "num_local_experts"), ("olmoe", "num_experts"),
                                       ("qwen3_moe", "num_experts"))):
            with self.subTest(family=family):
                self.write(family)
                name, count = f"few-{family}", ["model.options.num_experts=5",
                                                "model.options.num_experts_per_tok=3"]
                losses = self.train(name, *count)
                self.assertLess(losses[-1], losses[0])
                folder = self.folder / "outputs" / name / "latest"
                config = json.loads((folder / "config.json").read_text())
                self.assertEqual((config[key], config["num_experts_per_tok"]), (5, 3))
                for other in {"num_experts", "num_local_experts"} & config.keys():
                    self.assertEqual(config[other], 5)
                recipe = (self.folder / "r.yaml").read_text()
                model = re.search("(?m)^model: .*$", recipe)[0]
                self.recipe(recipe.replace(model, f"model: {{init_from: {folder}}}"), "r.yaml")
                again = self.train(f"again-{family}", "run.duration=1 steps")
                self.assertLess(again[0], losses[0])

    def all_metrics(self, run):
        text = (self.folder / "outputs" / run / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def biases(self, run):
        """By layer."""
        saved = saved_tensors.in_folder(self.folder / "outputs" / run / "latest", "model")
        found = {n: t for n, t in saved.items() if n.endswith(BIAS)}
        self.assertEqual(len(found), 2)
        return [struct.unpack(f"<{t[1][0]}f", t[2]) for _, t in sorted(found.items())]

    def write_corrected(self):
        """A folder whose corrections are START."""
        folder = self.folder / "corrected"
        # One model and one data set: how soon loads are even is theirs, in some hardly by the end.
        draw = random.Random(20)
        expert_folders.write_corrected(folder, draw)
        write_tokens(self.folder / "tokens.bin", expert_folders.tokens(draw, 12 * 8))
        recipe = RECIPE.format(seed=1, family="dots1", options="")
        recipe = recipe.replace("model: {type: dots1, options: {}}",
                                f"model: {{init_from: {folder}}}")
        recipe = recipe.replace("type: stories", "type: tokens, train: tokens.bin")
        self.recipe(recipe.replace(", samples: 256, eval_samples: 16", ""), "r.yaml")

    def test_a_bias_balances_experts_without_a_loss(self):
        self.write_corrected()
        rate = 0.0625                               # sums of it are exact
        on = f"model.options.router_bias_rate={rate}"
        self.train("still")
        self.assertEqual(self.biases("still"), [tuple(START)] * 2)
        self.train("moved", on)
        for layer in self.biases("moved"):
            moves = [(b - start) / rate for b, start in zip(layer, START, strict=True)]
            self.assertTrue(all(m.is_integer() and abs(m) <= 12 for m in moves))
            self.assertGreater(len(set(moves)), 1)
        still, moved = ([m["expert_load_entropy"] for m in self.metrics(name)]
                        for name in ("still", "moved"))
        self.assertEqual(moved[0], still[0])                # before the first move
        self.assertGreater(mean(moved[6:]), mean(still[6:]))

    def test_a_plan_counts_the_parameters_that_compute_a_token_and_gpus_have_kernels(self):
        on_gpu = ("--gpu", "h100", "run.device=gpu")
        for family, (experts, per_token) in FAMILIES.items():
            self.write(family)
            plan = self.plan()
            of_experts = 2 * experts * 3 * 32 * 24          # layers, experts, products
            self.assertEqual(plan["parameters"] - plan["active_parameters"],
                             of_experts * (experts - per_token) / experts)
            for precision in ("fp32", "bf16", "fp16"):
                with self.subTest(family=family, precision=precision):
                    of_gpu = self.plan(*on_gpu, f"precision={precision}")
                    self.assertGreater(of_gpu["budget_bytes"], 75e9)    # the GPU's
                    for key in ("parameters", "active_parameters"):
                        self.assertEqual(of_gpu[key], plan[key])
        self.write("llama")
        self.assertNotIn("active_parameters", self.plan())
        for family, option in (("gpt_oss", "router_z_loss=0.5"), ("dots1", "router_bias_rate=0.1")):
            with self.subTest(family=family):
                self.write(family)
                plan = self.plan(*on_gpu, f"model.options.{option}")
                self.assertGreater(plan["budget_bytes"], 75e9)


if __name__ == "__main__":
    main()
