"""`trainx train --rehearse`: what a long run would find out after hours, and nothing is left of
it."""
import json
import os
import unittest

from support import ROOT, Trainx, main

QUICKSTART = ROOT / "configs" / "quickstart.yaml"


class Rehearse(Trainx):
    forks = True

    def test_an_honest_recipe(self):
        done = self.run_trainx("train", QUICKSTART, "--rehearse")
        for word in ("tokens", "planned", "checkpoints", "SIGTERM"):
            self.assertIn(word, done.stdout)
        self.assertEqual(list((self.folder / "outputs").iterdir()), [])
        # The longest rows, whatever the data holds.
        with open(self.folder / "short.jsonl", "w") as out:
            for k in range(64):
                print(json.dumps({"input_ids": [5, 6, 7 + k % 9], "label": k % 2}), file=out)
        recipe = self.recipe(
            """model: {type: bert, options: {num_layers: 1, num_heads: 2, hidden_size: 32, vocab_size: 100, max_positions: 64, task: classification, num_labels: 2}}
data: {type: jsonl, train: short.jsonl, sequence_length: 64}
batch: {global_batch_size: 8, micro_batch_size: 8}
optimizer: {type: adamw}
run: {duration: 20 steps}
""")
        self.assertIn("64 tokens", self.run_trainx("train", recipe, "--rehearse").stdout)

    def test_a_run_shorter_than_the_rehearsal(self):
        self.run_trainx("train", QUICKSTART, "--rehearse", "run.duration=3 steps",
                        "schedule.warmup=0 steps")

    def test_what_is_found(self):
        long = self.run_trainx("train", QUICKSTART, "--rehearse", "optimizer.lr=1e30",
                               "schedule.warmup=0 steps", "optimizer.max_grad_norm=0", expect=80)
        self.assertIn("trainx: ", long.stderr)
        if os.geteuid() != 0:                      # root may write anywhere
            os.mkdir(self.folder / "outputs", 0o500)
            self.run_trainx("train", QUICKSTART, "--rehearse", expect=73)
        self.run_trainx("train", QUICKSTART, "--rehearse", "--profile", "2", expect=2)


if __name__ == "__main__":
    main()
