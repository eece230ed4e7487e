"""Low-rank adapters on a GPU: the losses of PEFT on a CPU, memory as planned, and the same bits
after a resume, eagerly and with recomputation, with dropout as well."""
import importlib.util
import math
import os
import sys
import unittest

if all(map(importlib.util.find_spec, ("torch", "transformers", "peft"))):
    os.environ.setdefault("TRAINX_REFERENCE_PYTHON", sys.executable)
import reference
import tiny_families
from gpu_checks import TOLERANCE, GpuChecks, in_parts, needs_gpus, part_of
from lora_test import RECIPE
from support import Trainx, main, sha256, write_tokens

ALL = {"target_modules": "all-linear", "r": 16, "lora_alpha": 32}
SOME = {"target_modules": ["q_proj", "v_proj", "up_proj"], "r": 5, "use_rslora": True}
# Fused products, biases, products whose files are turned, heads behind one another; experts.
CASES = {"llama": ALL, "qwen2": SOME, "phi3": ALL, "gpt_neox": ALL, "opt": ALL,
         "gemma2_low_caps": ALL, "llama_odd": SOME, "olmoe": ALL, "qwen3_moe": ALL}


@needs_gpus(1)
@unittest.skipUnless(reference.PYTHON, "no python with torch, transformers and peft here")
class LoraOnGpu(GpuChecks, Trainx):
    on_gpu = True

    def setUp(self):
        super().setUp()
        self.random.seed(int(os.environ.get("TRAINX_TEST_SEED", 3)))
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [self.token() for _ in range(20 * 8 * 32 + 1)])

    def token(self):
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def make(self, case):
        reference.ask(self, "reference_decoder.py", "all",
                      asks=[["make", case, str(self.folder / case), 3]])

    def train(self, case, run, adapter, *settings):
        recipe = RECIPE.format(folder=self.folder / case, tokens=self.tokens, adapter=adapter)
        self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}",
                        "run.device=gpu", *settings)
        return [m["loss"] for m in self.metrics(run)]

    def adapter_of(self, run):
        return sha256(self.folder / "outputs" / run / "latest/adapter_model.safetensors")

    @in_parts(3)
    def test_losses_are_those_of_peft(self):
        for case, settings in part_of(CASES.items()):
            self.make(case)
            base, first = str(self.folder / case), str(self.folder / f"{case}-adapter")
            _, want = reference.ask(self, "reference_lora.py", "all", asks=[
                ["adapt", "decoder", base, first, 5, settings],
                ["train", "decoder", base, first, str(self.tokens), f"{base}-peft"]])
            self.assertTrue(all(map(math.isfinite, want["losses"])), want)
            cuts = [(), ("batch.micro_batch_size=2", "memory.activation_checkpoint=full")]
            for precision in TOLERANCE:
                for cut in cuts[:1] if tiny_families.depends_on_cut(case) else cuts:
                    with self.subTest(case=case, precision=precision, cut=cut):
                        run = f"{case}-{precision}{'-cut' if cut else ''}"
                        got = self.train(case, run, f"{{type: lora, init_from: {first}}}",
                                         f"precision={precision}", *cut)
                        self.check_gpu_losses(run, got, want["losses"], precision,
                                              routed=tiny_families.is_routed(case))
                        self.check_memory(run)

    def test_the_same_bits_after_a_resume_and_with_recomputation(self):
        for case, adapter in (("llama", "{type: lora, rank: 8}"),
                              ("llama", "{type: lora, rank: 8, dropout: 0.2}"),
                              ("olmoe", "{type: lora, rank: 4}")):
            self.make(case)
            for precision in ("fp32", "bf16"):
                with self.subTest(case=case, adapter=adapter, precision=precision):
                    fixed = ("run.deterministic=true", f"precision={precision}")
                    name = f"{case}-{'dropout' in adapter}-{precision}"
                    self.train(case, f"{name}-whole", adapter, *fixed)
                    want = self.adapter_of(f"{name}-whole")
                    for end, more in (("again", ()), ("eager", ("run.execution=eager",)),
                                      ("full", ("memory.activation_checkpoint=full",))):
                        self.train(case, f"{name}-{end}", adapter, *fixed, *more)
                        self.assertEqual(self.adapter_of(f"{name}-{end}"), want, end)
                    self.train(case, f"{name}-halves", adapter, *fixed, "run.duration=10 steps")
                    self.train(case, f"{name}-halves", adapter, *fixed)
                    self.assertEqual(self.adapter_of(f"{name}-halves"), want)


if __name__ == "__main__":
    main()
