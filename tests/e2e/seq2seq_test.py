"""Encoder-decoders from Hugging Face folders: the losses of transformers + torch.optim however the
global batch is cut, padded and recomputed, and folders that transformers loads with the logits of
its own training.

TRAINX_SEQ2SEQ=t5,t5_*    only these cases of tiny_seq2seq.py
"""
import concurrent.futures
import fnmatch
import json
import math
import os
import unittest

import reference
import tiny_seq2seq
from families_test import JOBS, TOLERANCE, TRAINED
from support import Trainx, main, sampled

RECIPE = """\
run: {{name: pairs, duration: 20 steps, device: cpu}}
model: {{init_from: {folder}}}
data: {{type: jsonl, train: {data}, sequence_length: 32, target_length: 20, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
RUNS = ((8, "none", "auto"), (2, "none", "[7, 20, 32]"), (1, "none", "[32]"), (2, "full", "auto"))
# What a folder keeps although these short texts may not show it.
SEEN_LATER = {"architectures", "model_type", "max_position_embeddings", "decoder_start_token_id",
              "scale_decoder_outputs", "feed_forward_proj"}


def chosen():
    """The cases that TRAINX_SEQ2SEQ names; without it all."""
    asked = [p for p in os.environ.get("TRAINX_SEQ2SEQ", "").split(",") if p]
    for pattern in asked:
        if not fnmatch.filter(tiny_seq2seq.names(), pattern):
            raise SystemExit(f"TRAINX_SEQ2SEQ: there is no case {pattern}")
    return [n for n in tiny_seq2seq.names()
            if not asked or any(fnmatch.fnmatch(n, p) for p in asked)]


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Seq2Seq(Trainx):
    def reference(self, *commands):
        return reference.ask(self, "reference_seq2seq.py", "all", asks=commands)

    def setUp(self):
        super().setUp()
        self.model_seed = int(os.environ.get("TRAINX_TEST_SEED", 3))
        self.random.seed(self.model_seed)
        self.data = self.folder / "pairs.jsonl"
        self.data.write_text("".join(json.dumps(self.pair()) + "\n" for _ in range(20 * 8)))
        print(f"  models and data of seed {self.model_seed}")

    def token(self):
        first, end = tiny_seq2seq.FIRST_TOKEN + 3, tiny_seq2seq.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def pair(self):
        """Some of the targets are not to be learnt."""
        source, target = self.random.randint(1, 32), self.random.randint(1, 20)
        return {"input_ids": [self.token() for _ in range(source)],
                "labels": [self.token() if i == 0 or self.random.random() < 0.9 else -100
                           for i in range(target)]}

    def train(self, case, micro, recomputed, pad_to, *more, name=None):
        run = name or f"{case}-{micro}-{recomputed}"
        recipe = RECIPE.format(folder=self.folder / case, data=self.data)
        self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}",
                        f"batch.micro_batch_size={micro}", f"data.pad_to={pad_to}",
                        f"memory.activation_checkpoint={recomputed}", *more)
        return [m["loss"] for m in self.metrics(run)]

    def check_losses(self, name, got, want):
        self.assertEqual(len(got), len(want))
        self.assertTrue(all(map(math.isfinite, got)), got)
        worst = max(abs(g - w) / w for g, w in zip(got, want))
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

    @sampled
    def test_a_family_is_that_of_transformers(self):
        for case in self.drawn(chosen(), few=3):
            with self.subTest(case=case):
                self.check_case(case)

    def check_case(self, case):
        folder, trained = self.folder / case, self.folder / f"{case}-trained"
        _, want = self.reference(["make", case, str(folder), self.model_seed],
                                 ["train", str(folder), str(self.data), str(trained)])
        self.assertTrue(all(map(math.isfinite, want["losses"])), want)
        self.assertLess(want["losses"][-1], want["losses"][0])
        self.run_trainx("export", case, f"{case}-start")            # without it nothing is
        kept = [("at its start", folder, f"{case}-start", 0)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            runs = {how: pool.submit(self.train, case, *how) for how in RUNS}
            for how, run in runs.items():
                with self.subTest(micro_batch_size=how[0], recomputed=how[1]):
                    got, name = run.result(), "-".join(map(str, (case, *how[:2])))
                    kept.append((name, trained, f"outputs/{name}/latest", TRAINED))
                    self.check_losses(name, got, want["losses"])
        found = self.reference(*(["compare", str(of), str(self.folder / out), str(self.data)]
                                 for _, of, out, _ in kept))
        for (name, _, _, tolerance), answer in zip(kept, found):
            with self.subTest(logits=name):
                self.check_folder(f"{case}, {name}", answer, tolerance)


if __name__ == "__main__":
    main()
