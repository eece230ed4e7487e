"""GPT-2 with experts (Fedus et al. 2021, arXiv:2101.03961): losses, dropped choices, folders and
text are those of torch in double precision. tests/equality/experts.yaml has recomputation, resumed
runs and ranks.
"""
import json
import unittest

import reference
import saved_tensors
from support import Trainx, main, sampled, write_tokens

RECIPE = """\
run: {{name: r, duration: 20 steps, device: cpu, deterministic: true}}
model: {{init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer:
  type: adamw
  lr: 1e-3
  max_grad_norm: 0
  options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}
schedule: {{type: constant}}
checkpoint: {{every: 10 steps, keep_last: 9}}
metrics: {{every: 1 steps}}
"""
SCRATCH = """\
run: {name: s, seed: 3, duration: 8 steps, device: cpu, deterministic: true}
model:
  type: gpt2
  options: {num_layers: 4, num_heads: 2, hidden_size: 32, max_positions: 32, num_experts: 4}
data: {type: stories, sequence_length: 32, samples: 64, eval_samples: 8}
batch: {global_batch_size: 8, micro_batch_size: 4}
precision: fp32
optimizer: {type: adamw, lr: 3e-3}
schedule: {type: constant}
metrics: {every: 1 steps}
"""
TOLERANCE = 1e-5            # of losses, and of logits before training
TRAINED = 1e-4              # of logits after it, as a share of the largest
SAMPLES, LENGTH, LAYERS, EXPERTS = 8, 32, 2, 4      # LAYERS: those with experts
MODELS = 10                 # that are tried until routers choose clearly
DRAWS = 5                   # of held-out tokens or prompts, until rounding decides nothing there
# settings of config.json, the factor of the z-loss, the micro-batch
CASES = {"plain": ({}, 0, 8), "cut": ({}, 0, 2), "few": ({"capacity_factor": 0.5}, 0, 4),
         "none dropped": ({"capacity_factor": 0}, 0, 8), "one": ({"capacity_factor": 1}, 0, 1),
         "two of a token": ({"num_experts_per_tok": 2, "capacity_factor": 1}, 0.01, 8),
         "every layer": ({"decoder_sparse_step": 1, "router_aux_loss_coef": 0.1}, 0, 4),
         "no loss": ({"router_aux_loss_coef": 0}, 0.1, 8)}


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Switch(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [min(130, int(self.random.expovariate(0.05)))
                                   for _ in range(20 * SAMPLES * LENGTH + 1)])

    def reference(self, *args):
        return reference.ask(self, "reference_switch.py", *args)

    def make(self, settings, z=0, micro=SAMPLES):
        """A folder, and what training it gives, with routers that do not choose by rounding, and
        choices that are dropped where there is a capacity."""
        seed = self.random.randrange(1000)
        for one in range(seed, seed + MODELS):
            self.reference("make", self.folder / "model", one, json.dumps(settings))
            want = self.reference("train", self.folder / "model", self.tokens,
                                  self.folder / "trained", micro, z)
            if want["clear"] and any(want["dropped"]) == (settings.get("capacity_factor") != 0):
                break
        else:
            self.fail(f"routers of {MODELS} models choose by rounding, or drop nothing")
        self.recipe(RECIPE.format(folder=self.folder / "model", tokens=self.tokens), "r.yaml")
        return want

    def train(self, name, *settings, recipe="r.yaml", **how):
        self.run_trainx("train", recipe, f"run.name={name}", *settings,
                        env=self.environment(OMP_NUM_THREADS="1"), **how)
        return self.metrics(name)

    def check_losses(self, got, want, tolerance=TOLERANCE):
        self.assertEqual(len(got), len(want))
        worst = max(abs(g - w) / abs(w) for g, w in zip(got, want))
        print(f"  largest relative difference of losses {worst:.1e}")
        self.assertLess(worst, tolerance)

    @sampled
    def test_losses_and_dropped_choices_are_those_of_torch(self):
        for name in self.drawn(CASES, few=2):
            settings, z, micro = CASES[name]
            with self.subTest(case=name):
                want = self.make(settings, z, micro)
                run = name.replace(" ", "-")
                same = (f"batch.micro_batch_size={micro}", f"model.options.router_z_loss={z}")
                got = self.train(run, *same)
                self.check_losses([m["loss"] for m in got], want["losses"])
                self.assertEqual([m["dropped_tokens"] for m in got], want["dropped"])
                self.run_trainx("export", "model", f"{run}-start")      # keeps what was loaded
                for mine, of, most in ((f"{run}-start", "model", 0),
                                       (f"outputs/{run}/latest", "trained", TRAINED)):
                    found = self.reference("compare", self.folder / of, self.folder / mine)
                    self.assertLessEqual(found["difference"], most * found["largest"])

    def test_evaluations_drop_nothing_and_have_the_loss_of_torch(self):
        self.make({"capacity_factor": 0.5})         # all experts together take half of the tokens
        held_out = self.folder / "held-out.bin"
        for _ in range(DRAWS):
            write_tokens(held_out, [min(130, int(self.random.expovariate(0.05)))
                                    for _ in range(SAMPLES * LENGTH + 1)])
            want = self.reference("evaluate", self.folder / "model", held_out)
            if want["clear"]:
                break
        self.assertTrue(want["clear"])
        got = self.train("r", f"data.eval={held_out}", "run.duration=1 steps",
                         "optimizer.lr=1e-30", "eval.every=1 steps",
                         "optimizer.options.weight_decay=0", "eval.batches=1")
        lines = (self.folder / "outputs/r/metrics.jsonl").read_text().splitlines()
        [evaluated] = [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]
        self.assertGreater(got[0]["dropped_tokens"], 0)     # of training alone
        self.check_losses([evaluated], [want["loss"]])

    def test_text_drops_nothing(self):
        self.make({"capacity_factor": 0.25})
        # Rounding decides about one of the first ten tokens of one text in 400.
        for _ in range(DRAWS):
            ids = [self.random.randrange(131) for _ in range(7)]
            want = self.reference("greedy", self.folder / "model", json.dumps(ids), 30)
            clear = next((i for i, gap in enumerate(want["gaps"]) if gap < 1e-4), 30)
            if clear > 10 and want["clear"]:
                break
        self.assertTrue(want["clear"])
        self.assertGreater(clear, 10)
        got = json.loads(self.run_trainx(
            "generate", "model", "--prompt", " ".join(map(str, ids)), "--tokenizer", "none",
            "--temperature", "0", "--max-tokens", 30, "--ignore-eos", "--device", "cpu",
            "--precision", "fp32", "--json").stdout)["ids"]
        self.assertEqual(got[:7 + clear], want["ids"][:7 + clear])

    def test_of_tokens_of_one_mind_all_but_the_capacity_are_dropped(self):
        want = self.make({"capacity_factor": 1, "one_mind": True, "router_aux_loss_coef": 0})
        for micro in (8, 4, 2, 1):
            with self.subTest(micro_batch_size=micro):
                first = self.train(f"cut-{micro}", f"batch.micro_batch_size={micro}",
                                   "run.duration=1 steps")[0]
                tokens = SAMPLES * LENGTH
                self.assertEqual(first["dropped_tokens"], LAYERS * (tokens - tokens // EXPERTS))
                self.assertEqual(first["expert_load_max"], EXPERTS)
                if micro == SAMPLES:
                    self.check_losses([first["loss"]], want["losses"][:1])


class Recipes(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.recipe(SCRATCH, "r.yaml")

    def plan(self, *settings):
        told = self.run_trainx("plan", "r.yaml", "--json", *settings).stdout
        return json.loads(told.splitlines()[-1])

    def test_a_recipe_begins_one_and_its_folder_loads(self):
        self.run_trainx("train", "r.yaml")
        losses = [m["loss"] for m in self.metrics("s")]
        self.assertLess(losses[-1], losses[0])
        config = json.loads((self.folder / "outputs/s/latest/config.json").read_text())
        self.assertEqual([config[k] for k in ("model_type", "num_experts", "num_experts_per_tok",
                                              "decoder_sparse_step", "capacity_factor",
                                              "router_aux_loss_coef")],
                         ["gpt2_moe", 4, 1, 2, 1.25, 0.01])
        tensors = saved_tensors.tensors(self.weights("s"))
        shapes = {n: t[1] for n, t in tensors.items() if ".mlp." in n}
        for layer in (1, 3):
            self.assertEqual(shapes[f"h.{layer}.mlp.experts.c_fc.weight"], [4, 128, 32])
            self.assertEqual(shapes[f"h.{layer}.mlp.experts.c_proj.bias"], [4, 32])
        self.assertEqual(shapes["h.0.mlp.c_fc.weight"], [32, 128])
        begun = f"model:\n  init_from: {self.folder}/outputs/s/latest\n"
        again = self.recipe(begun.join([SCRATCH[:SCRATCH.index("model:")],
                                        SCRATCH[SCRATCH.index("data:"):]]), "again.yaml")
        self.run_trainx("train", again, "run.name=again", "run.duration=1 steps")
        self.assertLess(self.metrics("again")[0]["loss"], losses[0])
        self.refused("plan", again, "model.options.num_experts=8",
                     names=["model.options.num_experts"])

    def test_a_plan_counts_what_computes_a_token(self):
        plan = self.plan()
        of_expert = 2 * 32 * 128 + 128 + 32
        self.assertEqual(plan["parameters"] - plan["active_parameters"], 2 * 3 * of_expert)
        for key in ("layers", "experts", "per_token", "parameters"):
            self.assertEqual(plan["experts"][key], {"layers": 2, "experts": 4, "per_token": 1,
                                                    "parameters": 2 * 4 * of_expert}[key])
        self.recipe(SCRATCH.replace(", num_experts: 4", ""), "r.yaml")
        self.assertFalse({"active_parameters", "experts"} & self.plan().keys())

    def test_capacities_are_planned_for_gpus(self):
        self.recipe(SCRATCH, "r.yaml")
        plan = json.loads(self.run_trainx("plan", "r.yaml", "run.device=gpu", "--gpu", "h100",
                                          "--json").stdout)
        self.assertGreater(plan["budget_bytes"], 75e9)          # the GPU's


if __name__ == "__main__":
    main()
