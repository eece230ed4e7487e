"""Mixtures of experts: ranks, cuts of the batch and recomputation have the losses of one run; what a
plan says of parameters and memory, on CPUs and GPUs. families_test.py compares them with
transformers.
"""
import json
import math
import re
import struct
from statistics import mean

import saved_tensors
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


# A router with a correction.
CORRECTED = {"model_type": "dots1", "num_hidden_layers": 2, "hidden_size": 32,
             "intermediate_size": 24, "num_attention_heads": 2, "num_key_value_heads": 2,
             "vocab_size": 64, "max_position_embeddings": 32, "n_routed_experts": 8,
             "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_shared_experts": 1,
             "first_k_dense_replace": 0, "norm_topk_prob": True,
             "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
BIAS = ".mlp.gate.e_score_correction_bias"
START = [0.5] + [0.0] * 7   # corrections: scores are from 0 to 1, so most tokens choose expert 0


def corrected_shapes():
    """Name -> shape of each tensor of CORRECTED."""
    hidden, width, experts = 32, 16, 8
    shapes = {"model.embed_tokens.weight": [64, hidden], "lm_head.weight": [64, hidden],
              "model.norm.weight": [hidden]}
    for layer in range(2):
        below = {f"self_attn.{part}_proj": [hidden, hidden] for part in "qkvo"}
        below |= {f"self_attn.{part}_norm": [16] for part in "qk"}
        below |= {"input_layernorm": [hidden], "post_attention_layernorm": [hidden],
                  "mlp.gate": [experts, hidden]}
        for owner in [f"experts.{e}" for e in range(experts)] + ["shared_experts"]:
            below |= {f"mlp.{owner}.{part}_proj": [width, hidden] for part in ("gate", "up")}
            below |= {f"mlp.{owner}.down_proj": [hidden, width]}
        shapes |= {f"model.layers.{layer}.{n}.weight": shape for n, shape in below.items()}
        shapes[f"model.layers.{layer}{BIAS}"] = [experts]
    return shapes


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

    def test_metrics_tell_how_loads_are_spread(self):
        self.write("mixtral")
        self.train("one")
        self.train("cut", "batch.micro_batch_size=1")
        self.train("two", "parallel.world_size=2", "parallel.mode=zero3")
        keys = ("expert_load_max", "expert_load_entropy", "dropped_tokens")
        first = [[self.metrics(name)[0][k] for k in keys] for name in ("one", "cut", "two")]
        self.assertEqual(first[0], first[1])        # the same tokens, however they are cut
        self.assertEqual(first[0], first[2])
        for name in ("one", "cut", "two"):
            for line in self.metrics(name):
                self.assertEqual(line["dropped_tokens"], 0)
                # 2 of 8 experts: an expert has at most every token, 4 times the mean
                self.assertTrue(1 < line["expert_load_max"] <= 4, line)
                self.assertTrue(math.log(2) / math.log(8) - 1e-9 <= line["expert_load_entropy"] < 1,
                                line)
        self.run_trainx("report", "outputs/one", "--out", "one.html")
        self.assertIn("expert_load_max", (self.folder / "one.html").read_text())
        self.write("llama")
        self.train("dense")
        self.assertFalse(set(keys) & self.metrics("dense")[-1].keys())

    def test_a_loss_of_log_sums_is_training_s_alone(self):
        self.write("olmoe")
        small = "model.options.initializer_range=0.005"
        want = self.train("plain", small, "eval.every=6 steps")
        got = self.train("z", small, "eval.every=6 steps", "model.options.router_z_loss=0.5")
        half = self.train("half", small, "model.options.router_z_loss=0.25")
        # of small logits: log(64)^2 of 64 experts
        self.assertLess(abs(got[0] - want[0] - 0.5 * math.log(64) ** 2), 0.02)
        self.assertLess(abs(2 * (half[0] - want[0]) - (got[0] - want[0])), 1e-5)
        self.assertLess(got[-1] - want[-1], got[0] - want[0])       # it is learned
        loss = "model.options.router_z_loss=0.5"
        self.assertEqual(self.train("full", small, loss, "memory.activation_checkpoint=full"), got)
        evaluated = [[m["eval_loss"] for m in self.all_metrics(n) if "eval_loss" in m]
                     for n in ("plain", "z")]
        # small again: without the loss, whose weights are others by then
        self.assertLess(abs(evaluated[0][0] - evaluated[1][0]), 0.5)
        for family, key in (("llama", "router_z_loss"), ("dots1", "router_z_loss"),
                            ("olmoe", "router_bias_rate")):
            self.write(family)
            key = f"model.options.{key}"
            self.refused("plan", "r.yaml", f"{key}=0.1", names=[key, family])

    def test_cuts_and_ranks_have_the_losses_of_the_plain_run_with_log_sums(self):
        """A token takes all experts, so that no tie of scores decides. Cuts round scores in other
        ways: another choice of one token grew to a difference of 2e-6 in 12 steps."""
        self.write("olmoe", SIZES + ", num_experts: 8")
        common = ("model.options.initializer_range=0.005", "model.options.router_z_loss=0.5")
        want = self.train("plain", *common)
        for settings in ("batch.micro_batch_size=1", "parallel.world_size=2"):
            with self.subTest(settings=settings):
                got = self.train(settings[:5], *common, settings)
                self.assertLess(largest_difference(got, want), 2e-7)

    def test_a_recipe_sets_how_many_experts_there_are(self):
        """config.json of the run says so, and is what the run reads when it goes on."""
        for family, key in (("mixtral", "num_local_experts"), ("olmoe", "num_experts"),
                            ("qwen3_moe", "num_experts")):
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
                self.assertEqual(len(self.metrics(name)), len(losses))
                self.refused("plan", "r.yaml", *count, "model.options.num_experts_per_tok=6",
                             names=["num_experts_per_tok", "(6)", "(5)"])
                recipe = (self.folder / "r.yaml").read_text()
                model = re.search("(?m)^model: .*$", recipe)[0]
                self.recipe(recipe.replace(model, f"model: {{init_from: {folder}}}"), "r.yaml")
                again = self.train(f"again-{family}", "run.duration=1 steps")
                self.assertLess(again[0], losses[0])
        self.write("llama")
        for key in ("num_experts", "num_experts_per_tok"):
            self.refused("plan", "r.yaml", f"model.options.{key}=2",
                         names=[f"model.options.{key}", "llama"])

    def all_metrics(self, run):
        text = (self.folder / "outputs" / run / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def biases(self, run, checkpoint="latest"):
        """By layer."""
        files = (self.folder / "outputs" / run / checkpoint).glob("model*.safetensors")
        found = {n: t for file in files for n, t in saved_tensors.tensors(file).items()
                 if n.endswith(BIAS)}
        self.assertEqual(len(found), 2)
        return [struct.unpack(f"<{t[1][0]}f", t[2]) for _, t in sorted(found.items())]

    def write_corrected(self):
        """A folder whose corrections are START."""
        folder, header, data = self.folder / "corrected", {}, b""
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(CORRECTED))
        for name, shape in corrected_shapes().items():
            draw = (lambda: 1) if len(shape) == 1 else (lambda: self.random.gauss(0, 0.1))
            values = START if name.endswith(BIAS) else [draw() for _ in range(math.prod(shape))]
            end = len(data) + 4 * len(values)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), end]}
            data += struct.pack(f"<{len(values)}f", *values)
        head = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
        write_tokens(self.folder / "tokens.bin",
                     [int(64 * self.random.random() ** 3) for _ in range(12 * 8 * 32 + 1)])
        recipe = RECIPE.format(seed=1, family="dots1", options="")
        recipe = recipe.replace("model: {type: dots1, options: {}}", f"model: {{init_from: {folder}}}")
        recipe = recipe.replace("type: stories", "type: tokens, train: tokens.bin")
        self.recipe(recipe.replace(", samples: 256, eval_samples: 16", ""), "r.yaml")

    @sampled
    def test_a_bias_balances_experts_without_a_loss(self):
        self.write_corrected()
        rate = 0.0625                               # sums of it are exact
        on = f"model.options.router_bias_rate={rate}"
        self.train("still")
        self.assertEqual(self.biases("still"), [tuple(START)] * 2)
        want = self.train("moved", on)
        biases = self.biases("moved")
        for layer in biases:
            moves = [(b - start) / rate for b, start in zip(layer, START, strict=True)]
            self.assertTrue(all(m.is_integer() and abs(m) <= 12 for m in moves))
            self.assertGreater(len(set(moves)), 1)
        still, moved = ([m["expert_load_entropy"] for m in self.metrics(name)]
                        for name in ("still", "moved"))
        self.assertEqual(moved[0], still[0])                # before the first move
        self.assertGreater(mean(moved[6:]), mean(still[6:]))
        self.train("cut", on, "run.duration=6 steps")
        self.assertEqual(self.train("cut", on), want)       # to the bit
        self.assertEqual(self.biases("cut"), biases)
        for number, settings in enumerate((
                ["batch.micro_batch_size=1"], ["memory.activation_checkpoint=full"],
                *(["parallel.world_size=2", f"parallel.mode={mode}"]
                  for mode in ("ddp", "dp", "zero1", "zero2", "zero3")))):
            with self.subTest(settings=settings):
                got = self.train(f"on-{number}", on, *settings)
                self.assertLess(largest_difference(got, want), 1e-6)
                self.assertEqual(self.biases(f"on-{number}"), biases)
        self.refused("plan", "r.yaml", on, "precision=bf16",
                     key="model.options.router_bias_rate", names=["fp32"])

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
        for family, option in (("gpt_oss", "router_z_loss=0.5"), ("dots1", "router_bias_rate=0.1")):
            with self.subTest(family=family):
                self.recipe(RECIPE.format(seed=1, family=family, options=SIZES), "r.yaml")
                plan = self.plan("--gpu", "h100", "run.device=gpu", f"model.options.{option}")
                self.assertGreater(plan["budget_bytes"], 75e9)


if __name__ == "__main__":
    main()
