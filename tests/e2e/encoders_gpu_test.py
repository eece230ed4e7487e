"""Encoders of other families than BERT on a GPU: the losses of transformers on a CPU however the
global batch is cut and recomputed, and memory as planned.

TRAINX_FAMILIES=modernbert*,electra*    these cases of tiny_encoders.py instead of CASES
"""
import importlib.util
import math
import os
import sys

if all(map(importlib.util.find_spec, ("torch", "transformers"))):
    os.environ.setdefault("TRAINX_REFERENCE_PYTHON", sys.executable)
from encoders_test import Encoders as Shared, chosen
from gpu_checks import GpuChecks, TOLERANCE, in_parts, needs_gpus, part_of
from support import main

# Windows on both sides, means of rows, every task. (A tiny DistilBERT with classes moves its losses
# by a tenth in bf16, on CPUs too.)
CASES = ("modernbert_masked_lm", "modernbert_classes", "modernbert_mean", "modernbert_layers",
         "modernbert_biases", "distilbert_masked_lm", "electra_masked_lm", "roberta_masked_lm",
         "bert_numbers", "bert_labels")
CUTS = ((), ("batch.micro_batch_size=2", "memory.activation_checkpoint=full"))


@needs_gpus(1)
class EncodersOnGpu(GpuChecks, Shared):
    on_gpu = True

    @in_parts(3)
    def test_losses_are_those_of_transformers(self):
        asked = chosen() if os.environ.get("TRAINX_FAMILIES") else CASES
        for case in part_of(asked):
            folder, lines = self.make(case)
            want = self.reference(["train", case, str(folder), str(lines), f"{folder}-trained"])[0]
            self.assertTrue(all(map(math.isfinite, want)), want)
            for precision in TOLERANCE:
                for i, cut in enumerate(CUTS):
                    with self.subTest(case=case, precision=precision, cut=cut):
                        run = f"{case}-{precision}-{i}"
                        self.run_trainx("train", self.recipe_of(case, folder, lines, run),
                                        f"run.name={run}", "run.device=gpu",
                                        f"precision={precision}", *cut)
                        got = [m["loss"] for m in self.metrics(run)]
                        self.check_gpu_losses(run, got, want, precision, least=want[0])
                        self.check_memory(run)


def load_tests(loader, tests, pattern):             # not those of the CPU once more
    return loader.loadTestsFromNames(["test_losses_are_those_of_transformers"], EncodersOnGpu)


if __name__ == "__main__":
    main()
