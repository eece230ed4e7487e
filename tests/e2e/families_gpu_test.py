"""Decoder families on a GPU: the losses of transformers on a CPU, the same bits after a resume and
with recomputation, memory as planned, packed rows, and greedy text.

TRAINX_FAMILIES=llama,qwen3*    these cases of tiny_families.py instead of CASES
"""
import fnmatch
import importlib.util
import json
import math
import os
import sys
import unittest

if all(map(importlib.util.find_spec, ("torch", "transformers"))):
    os.environ.setdefault("TRAINX_REFERENCE_PYTHON", sys.executable)
import reference
import tiny_families
from gpu_checks import (CLEAR, TOLERANCE, GpuChecks, in_parts, needs_gpus, part_of)
from support import Trainx, main, sha256, write_tokens

# Grouped and all heads, biases, windows, caps, norms of heads, LayerNorm, parallel residuals,
# plain MLPs, learned positions, odd sizes, biases by distance, sinks,
# latent heads with narrow values; experts, odd ones, all of them, with the loss that keeps them
# busy, stacked, beside one for all tokens, in groups, with biases and gates with limits.
CASES = ("llama", "llama_all_heads", "llama_odd", "llama_bias", "mistral", "qwen2", "qwen3",
         "qwen3_window", "gemma2_low_caps", "gemma3_two_thetas", "phi", "phi3", "olmo2", "gpt_neox",
         "granite_scalars", "cohere", "starcoder2", "stablelm_all", "glm4", "nemotron", "nanochat",
         "olmo_clip", "opt", "bloom", "bloom_odd", "granite_swa", "granite_swa_bias", "deepseek_v2",
         "deepseek_v3_halves", "minicpm3", "mixtral", "mixtral_odd", "mixtral_all", "olmoe",
         "qwen2_moe_balanced", "qwen3_moe", "granitemoe", "deepseek_v2_groups",
         "deepseek_v3_experts", "gpt_oss", "gpt_oss_limits", "gpt_oss_odd")
RECIPE = """\
run: {{name: hf, duration: 20 steps, device: gpu}}
model: {{init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
checkpoint: {{every: 5 steps}}
"""


def chosen():
    asked = [p for p in os.environ.get("TRAINX_FAMILIES", "").split(",") if p]
    for pattern in asked:
        if not fnmatch.filter(tiny_families.names(), pattern):
            raise SystemExit(f"TRAINX_FAMILIES: there is no case {pattern}")
    return [n for n in tiny_families.names() if any(fnmatch.fnmatch(n, p) for p in asked)
            ] if asked else CASES


@needs_gpus(1)
@unittest.skipUnless(reference.PYTHON, "no python with torch and transformers here")
class FamiliesOnGpu(GpuChecks, Trainx):
    on_gpu = True

    def setUp(self):
        super().setUp()
        self.model_seed = int(os.environ.get("TRAINX_TEST_SEED", 3))
        self.random.seed(self.model_seed)
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [self.token() for _ in range(20 * 8 * 32 + 1)])
        print(f"  models and data of seed {self.model_seed}")

    def token(self):
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def reference(self, *commands):
        return reference.ask(self, "reference_decoder.py", "all", asks=commands)

    def make(self, case, *how):
        self.reference(["make", case, str(self.folder / case), self.model_seed, *how])
        return self.folder / case

    def train(self, case, run, *settings):
        recipe = RECIPE.format(folder=self.folder / case, tokens=self.tokens)
        self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}", *settings)
        return self.losses(run)

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def weights_of(self, run):
        return sha256(self.weights(run))

    @in_parts(8)
    def test_losses_are_those_of_transformers(self):
        for case in part_of(chosen()):
            want = reference.train_clearly(self, case, self.folder / case, self.model_seed,
                                           str(self.tokens))["losses"]
            self.assertTrue(all(map(math.isfinite, want)), want)
            cuts = [(), ("batch.micro_batch_size=2", "memory.activation_checkpoint=full")]
            for precision in TOLERANCE:
                for cut in cuts[:1] if tiny_families.depends_on_cut(case) else cuts:
                    with self.subTest(case=case, precision=precision, cut=cut):
                        run = f"{case}-{precision}{'-cut' if cut else ''}"
                        got = self.train(case, run, f"precision={precision}", *cut)
                        self.assertLess(got[-1], got[0])
                        self.check_gpu_losses(run, got, want, precision,
                                              routed=tiny_families.is_routed(case))
                        self.check_memory(run)

    @in_parts(3)
    def test_the_same_bits_after_a_resume_and_with_recomputation(self):
        for case in part_of(("llama", "qwen3_window", "gemma2_low_caps", "olmoe",
                             "granitemoe_balanced", "gpt_oss")):
            self.make(case)
            for precision in ("fp32", "bf16"):
                with self.subTest(case=case, precision=precision):
                    fixed = ("run.deterministic=true", f"precision={precision}")
                    name = f"{case}-{precision}"
                    self.train(case, f"{name}-whole", *fixed)
                    want = self.weights_of(f"{name}-whole")
                    for end, more in (("again", ()), ("eager", ("run.execution=eager",)),
                                      ("full", ("memory.activation_checkpoint=full",)),
                                      ("selective", ("memory.activation_checkpoint=selective",))):
                        self.train(case, f"{name}-{end}", *fixed, *more)
                        self.assertEqual(self.weights_of(f"{name}-{end}"), want, end)
                    self.train(case, f"{name}-halves", *fixed, "run.duration=10 steps")
                    self.train(case, f"{name}-halves", *fixed)
                    self.assertEqual(self.weights_of(f"{name}-halves"), want)
                    self.assertEqual(self.losses(f"{name}-halves"), self.losses(f"{name}-whole"))

    def test_packed_rows_have_the_losses_of_the_cpu(self):
        documents = [[self.token() for _ in range(2 + int(self.random.expovariate(0.1)))][:32]
                     for _ in range(120)]
        (self.folder / "all.jsonl").write_text(
            "".join(json.dumps({"input_ids": d}) + "\n" for d in documents))
        self.run_trainx("data", "pack", "all.jsonl", "--sequence-length", 32, "--out",
                        "packed.jsonl")
        packed = ("data={type: jsonl, train: packed.jsonl, sequence_length: 32, packed: true, "
                  "shuffle: false}",)
        for case in ("llama", "mistral", "gemma2_low_caps", "opt"):
            self.make(case)
            want = self.train(case, f"{case}-cpu", "run.device=cpu", *packed)
            for precision, (tolerance, steps) in TOLERANCE.items():
                with self.subTest(case=case, precision=precision):
                    run = f"{case}-packed-{precision}"
                    got = self.train(case, run, f"precision={precision}", *packed)
                    self.assertEqual(len(got), len(want))
                    worst = max(abs(g / w - 1) for g, w in list(zip(got, want))[:steps])
                    print(f"  {run}: largest relative difference of losses {worst:.1e}")
                    self.assertLess(worst, tolerance)
                    self.check_memory(run)

    @in_parts(6)
    def test_greedy_text_is_that_of_transformers(self):
        for case in part_of(chosen()):
            with self.subTest(case=case):
                folder = self.make(case, "talks")
                asked = [{"ids": [self.token() for _ in range(size)], "new": 40}
                         for size in (3, 20) for _ in range(2)]
                _, texts = self.reference(["make", case, str(folder), self.model_seed, "talks"],
                                          ["generate", str(folder), asked])
                for question, want in zip(asked, texts):
                    prompt = len(question["ids"])
                    got = json.loads(self.run_trainx(
                        "generate", folder, "--prompt", " ".join(map(str, question["ids"])),
                        "--tokenizer", "none", "--temperature", "0", "--max-tokens", 40,
                        "--ignore-eos", "--device", "gpu", "--json").stdout)
                    self.assertNotIn("CPU", got["device"])
                    clear = next((i for i, gap in enumerate(want["gaps"]) if not gap >= CLEAR), 40)
                    self.assertEqual(got["ids"][:prompt + clear], want["ids"][:prompt + clear])
                    print(f"  {case}: {clear} of 40 greedy tokens after {prompt} are equal")

    def test_an_average_of_the_weights_is_that_of_the_cpu(self):
        self.make("llama")
        held_out = self.folder / "held_out.bin"
        write_tokens(held_out, [self.token() for _ in range(8 * 32 + 1)])
        average = ("optimizer.ema_decay=0.8", "eval.weights=average", "eval.every=5 steps",
                   f"data.eval={held_out}")
        for precision, tolerance in (("fp32", 5e-5), ("bf16", 4e-2)):
            runs = []
            for device in ("cpu", "gpu"):
                run = f"average-{precision}-{device}"
                self.train("llama", run, f"run.device={device}", f"precision={precision}",
                           *average)
                lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
                runs.append([m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m])
            self.assertEqual(*map(len, runs))
            self.assertGreater(len(runs[0]), 2)
            worst = max(abs(g / w - 1) for w, g in zip(*runs))
            print(f"  average, {precision}: largest relative difference {worst:.1e}")
            self.assertLess(worst, tolerance)       # NaN is not

    def test_auto_takes_the_gpu(self):
        self.make("llama")
        recipe = self.recipe(RECIPE.format(folder=self.folder / "llama", tokens=self.tokens))
        self.run_trainx("train", recipe, "run.name=auto", "run.device=auto",
                        "run.duration=2 steps")
        self.assertGreater(self.metrics("auto")[-1]["device_memory_bytes"], 0)


if __name__ == "__main__":
    main()
