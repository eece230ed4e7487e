"""Encoders from Hugging Face folders, each task: the losses of transformers + torch.optim however
the global batch is cut and whatever is recomputed, and folders that transformers loads with the
logits of its own training.

TRAINX_FAMILIES=bert_tokens,electra*    only these cases of tiny_encoders.py
"""
import concurrent.futures
import fnmatch
import json
import math
import os
import unittest

import reference
import tiny_encoders
from support import Trainx, main, sampled

RECIPE = """\
run: {{name: hf, duration: 20 steps, device: cpu}}
model: {{type: {family}, init_from: {folder}, options: {{{options}}}}}
data: {{type: jsonl, train: {lines}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
RUNS = ((8, "none"), (2, "none"), (1, "none"), (2, "full"))     # micro-batch, what is recomputed
TOLERANCE = 1e-5            # of losses, and of the largest logit before training
# The rounding of gradients that are all but zero becomes steps, which later layers multiply.
TRAINED = 1e-4
JOBS = 2                    # runs at a time
# Settings that a folder keeps although these short lines may not show them.
SEEN_LATER = {"rope_parameters", "max_position_embeddings", "layer_types", "local_attention",
              "tie_word_embeddings", "architectures", "model_type", "num_labels", "id2label",
              "pad_token_id"}


def chosen():
    """The cases that TRAINX_FAMILIES names; without it all."""
    asked = [p for p in os.environ.get("TRAINX_FAMILIES", "").split(",") if p]
    for pattern in asked:
        if not fnmatch.filter(tiny_encoders.CASES, pattern):
            raise SystemExit(f"TRAINX_FAMILIES: there is no case {pattern}; "
                             f"there are {' '.join(tiny_encoders.CASES)}")
    return [n for n in tiny_encoders.CASES
            if not asked or any(fnmatch.fnmatch(n, p) for p in asked)]


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Encoders(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        # One model and one data set: others may have a value beside the kink of an activation,
        # where rounding decides about a gradient.
        self.model_seed = int(os.environ.get("TRAINX_TEST_SEED", 3))
        print(f"  models and data of seed {self.model_seed}")

    def reference(self, *commands):
        return reference.ask(self, "reference_encoder.py", asks=commands)

    def make(self, case):
        """(folder, lines)"""
        folder, lines = self.folder / case, self.folder / f"{case}.jsonl"
        tiny_encoders.write_lines(lines, case, self.model_seed)
        self.reference(["make", case, str(folder), self.model_seed])
        return folder, lines

    def recipe_of(self, case, folder, lines, run):
        family, task, _ = tiny_encoders.CASES[case]
        return self.recipe(RECIPE.format(family=family, folder=folder, lines=lines,
                                         options=tiny_encoders.OPTIONS[task]), f"{run}.yaml")

    def train(self, case, folder, lines, micro, recomputed):
        run = f"{case}-{micro}-{recomputed}"
        self.run_trainx("train", self.recipe_of(case, folder, lines, run), f"run.name={run}",
                        f"batch.micro_batch_size={micro}",
                        f"memory.activation_checkpoint={recomputed}")
        return [m["loss"] for m in self.metrics(run)]

    def check_losses(self, name, got, want):
        self.assertEqual(len(got), 20)
        self.assertTrue(all(map(math.isfinite, got)), got)
        # A squared error that falls towards 0 keeps the rounding of the numbers that it is of.
        task = tiny_encoders.CASES[name.rsplit("-", 2)[0]][1]
        least = max(want) if task in ("numbers", "regression") else 0
        worst = max(abs(g - w) / max(w, least) for g, w in zip(got, want))
        print(f"  {name}: largest relative difference of losses {worst:.1e}")
        self.assertLess(worst, TOLERANCE)

    def check_folder(self, name, found, tolerance):
        self.assertEqual((found["missing"], found["unexpected"]), ([], []))
        self.assertEqual(found["type"], found["wanted_type"])
        share = found["difference"] / found["largest"]
        print(f"  {name}: largest difference of logits {share:.1e} of the largest")
        self.assertTrue(share <= tolerance, found)                 # NaN is not
        if found["config"]:
            print(f"  {name}: config.json differs in {found['config']}")
        self.assertFalse(SEEN_LATER & found["config"].keys(), found["config"])

    def check_case(self, case):
        folder, lines = self.make(case)
        trained = f"{folder}-trained"
        want = self.reference(["train", case, str(folder), str(lines), trained])[0]
        self.assertTrue(all(map(math.isfinite, want)), want)
        self.run_trainx("export", case, f"{case}-start")
        kept = [("at its start", folder, f"{case}-start", 0)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            runs = {how: pool.submit(self.train, case, folder, lines, *how) for how in RUNS}
            for how, run in runs.items():
                with self.subTest(micro_batch_size=how[0], recomputed=how[1]):
                    got, name = run.result(), "-".join(map(str, (case, *how)))
                    kept.append((name, trained, f"outputs/{name}/latest", TRAINED))
                    self.check_losses(name, got, want)
        found = self.reference(*(["compare", case, str(of), str(self.folder / out), str(lines)]
                                 for _, of, out, _ in kept))
        for (name, _, _, tolerance), answer in zip(kept, found):
            with self.subTest(logits=name):
                self.check_folder(f"{case}, {name}", answer, tolerance)

    @sampled
    def test_an_encoder_is_that_of_transformers(self):
        for case in self.drawn(chosen(), few=4):
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
