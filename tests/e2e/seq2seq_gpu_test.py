"""Encoder-decoders on a GPU: the losses of transformers on a CPU however the global batch is cut,
padded and recomputed, memory as planned, and the greedy text of transformers.

TRAINX_SEQ2SEQ=t5,bart*    these cases of tiny_seq2seq.py instead of CASES
"""
import importlib.util
import json
import math
import os
import sys

if all(map(importlib.util.find_spec, ("torch", "transformers"))):
    os.environ.setdefault("TRAINX_REFERENCE_PYTHON", sys.executable)
from gpu_checks import CLEAR, TOLERANCE, GpuChecks, in_parts, needs_gpus, part_of
from seq2seq_test import PROMPTS, WRITTEN, Seq2Seq as Shared, chosen
from support import main

# Biases by distance with odd heads and buckets, gates, sides of different sizes, scaled tables.
CASES = ("t5", "t5_odd", "t5_gated", "bart", "bart_sides", "mbart_scaled")
CUTS = (("batch.micro_batch_size=8",),
        ("batch.micro_batch_size=2", "data.pad_to=[7, 20, 32]",
         "memory.activation_checkpoint=full"))


@needs_gpus(1)
class Seq2SeqOnGpu(GpuChecks, Shared):
    on_gpu = True

    def cases(self):
        return chosen() if os.environ.get("TRAINX_SEQ2SEQ") else CASES

    @in_parts(3)
    def test_losses_are_those_of_transformers(self):
        for case in part_of(self.cases()):
            folder = self.folder / case
            _, want = self.reference(["make", case, str(folder), self.model_seed],
                                     ["train", str(folder), str(self.data), f"{folder}-trained"])
            want = want["losses"]
            self.assertTrue(all(map(math.isfinite, want)), want)
            for precision in TOLERANCE:
                for i, cut in enumerate(CUTS):
                    with self.subTest(case=case, precision=precision, cut=cut):
                        run = f"{case}-{precision}-{i}"
                        got = self.train(case, 8, "none", "auto", "run.device=gpu",
                                         f"precision={precision}", *cut, name=run)
                        self.check_gpu_losses(run, got, want, precision)
                        self.check_memory(run)

    def test_the_same_bits_with_recomputation_and_launched_one_by_one(self):
        case = "t5"
        self.reference(["make", case, str(self.folder / case), self.model_seed])
        for precision in ("fp32", "bf16"):
            runs = []
            for end, more in (("plain", ()), ("full", ("memory.activation_checkpoint=full",)),
                              ("eager", ("run.execution=eager",))):
                with self.subTest(precision=precision, run=end):
                    runs.append(self.train(case, 4, "none", "auto", "run.device=gpu",
                                           "run.deterministic=true", f"precision={precision}",
                                           *more, name=f"{precision}-{end}"))
                    self.assertEqual(runs[-1], runs[0])

    def test_greedy_text_is_that_of_transformers(self):
        for case in ("t5", "t5_odd", "bart", "mbart_scaled"):
            folder = self.folder / f"{case}-talking"
            asked = [{"ids": [self.token() for _ in range(size)], "new": WRITTEN}
                     for size in PROMPTS]
            _, texts = self.reference(["make", case, str(folder), self.model_seed, "talks"],
                                      ["generate", str(folder), asked])
            for question, want in zip(asked, texts, strict=True):
                with self.subTest(case=case, prompt=len(question["ids"])):
                    got = json.loads(self.run_trainx(
                        "generate", folder, "--prompt", " ".join(map(str, question["ids"])),
                        "--tokenizer", "none", "--temperature", "0", "--max-tokens", WRITTEN,
                        "--ignore-eos", "--device", "gpu", "--json").stdout)
                    self.assertNotIn("CPU", got["device"])
                    clear = next((i for i, gap in enumerate(want["gaps"]) if not gap >= CLEAR),
                                 WRITTEN)
                    self.assertEqual(got["ids"][:1 + clear], want["ids"][:1 + clear])
                    print(f"  {case}: {clear} of {WRITTEN} greedy tokens are equal")


def load_tests(loader, tests, pattern):             # not those of the CPU once more
    return loader.loadTestsFromNames(
        [n for n in vars(Seq2SeqOnGpu) if n.startswith("test_")], Seq2SeqOnGpu)


if __name__ == "__main__":
    main()
