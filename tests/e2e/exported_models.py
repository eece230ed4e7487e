"""What the tests of models that scripts/trainx-export wrote share: exports made on the fly, and how
they are trained beside transformers."""
import json
import math
import shutil
import tempfile

import reference
from reference_exported_data import (BATCH, LABELS, LENGTH, STEPS, TARGET_LENGTH, TASKS,
                                     VOCABULARY)
from support import Trainx, write_tokens

RECIPE = f"""\
run: {{{{name: hf, duration: {STEPS} steps, device: cpu}}}}
model: {{{{type: exported, init_from: {{folder}}, options: {{{{task: {{task}}}}}}}}}}
data: {{{{{{data}}, sequence_length: {LENGTH}, shuffle: false}}}}
batch: {{{{global_batch_size: {BATCH}, micro_batch_size: {BATCH}}}}}
optimizer: {{{{type: adamw, lr: 1e-3, options: {{{{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}}}}}
schedule: {{{{type: constant}}}}
metrics: {{{{every: 1 steps}}}}
"""
HELD_OUT = BATCH + 3
TOLERANCE = 1e-5                        # of losses
TRAINED = 1e-4                          # of the largest logit, after training
NEEDS_REFERENCE = ("TRAINX_REFERENCE_PYTHON names no python with torch and transformers "
                   "(scripts/setup --reference installs one)")


class ExportedModels(Trainx):
    """Beside unittest.skipUnless(reference.PYTHON, NEEDS_REFERENCE)."""
    exports = {}                        # a folder for each case and its words: exporting takes long

    @classmethod
    def tearDownClass(cls):
        while cls.exports:
            cls.exports.popitem()[1].cleanup()
        super().tearDownClass()

    def reference(self, *words):
        return self.references(words)[0]

    def references(self, *commands):
        """The answers to commands of reference_exported.py."""
        return reference.ask(self, "reference_exported.py", "all", asks=commands, cwd=self.folder)

    def make(self, case, *words):
        """The recipe of an export."""
        task = TASKS.get(case, "causal_lm")
        self.random.seed(5)
        kind, ending = ("tokens", "bin") if task == "causal_lm" else ("jsonl", "jsonl")
        self.data, self.held_out = f"train.{ending}", f"held_out.{ending}"
        for name, rows in ((self.data, STEPS * BATCH), (self.held_out, HELD_OUT)):
            self.write_rows(self.folder / name, task, rows)
        data = f"type: {kind}, train: {self.data}"
        if task == "seq2seq":
            data += f", target_length: {TARGET_LENGTH}"
        if (case, words) not in self.exports:
            kept = tempfile.TemporaryDirectory(prefix="trainx-exported-")
            model, out = (f"{kept.name}/{folder}" for folder in ("model", "out"))
            _, found = self.references(("make", case, model), ("export", model, out, task, *words))
            self.assertIn("said", found, found)
            self.exports[case, words] = kept
        shutil.copytree(self.exports[case, words].name, self.folder, dirs_exist_ok=True)
        self.task, self.case = task, case
        return self.recipe(RECIPE.format(folder="out", task=task, data=data))

    def write_rows(self, path, task, count):
        """Of seq2seq the second row has no target."""
        def ids(least, most):
            return [self.random.randrange(3, VOCABULARY)
                    for _ in range(self.random.randrange(least, most + 1))]
        if task == "causal_lm":
            return write_tokens(path, ids(*[count * LENGTH + 1] * 2))
        with open(path, "w") as file:
            for row in range(count):
                tokens = ids(4, LENGTH)
                answer = {"label": tokens[0] % LABELS} if task == "classification" else \
                    {"labels": [-100] * 3 if row == 1 else ids(1, TARGET_LENGTH)}
                file.write(json.dumps({"input_ids": tokens} | answer) + "\n")

    def train(self, recipe, name, *settings):
        """The losses of its steps, none of them nan. What was said, in one line, is self.said."""
        done = self.run_trainx("train", recipe, f"run.name={name}", *settings)
        self.said = " ".join(done.stderr.split())
        losses = [m["loss"] for m in self.metrics(name)]
        self.assertTrue(all(map(math.isfinite, losses)), losses)
        return losses

    def check_losses(self, got, want, tolerance=TOLERANCE):
        self.assertEqual(len(got), len(want))
        worst = max(abs(g - w) / w for g, w in zip(got, want))
        print(f"  {self.case}: largest relative difference of losses {worst:.1e}")
        self.assertLess(worst, tolerance)

    def check_folder(self, folder, other, tolerance):
        self.check_compared(self.reference("compare", folder, other, self.task), tolerance)

    def check_compared(self, found, tolerance):
        self.assertEqual((found["missing"], found["unexpected"]), ([], []))
        self.assertEqual(found["type"], found["wanted_type"])
        self.assertLessEqual(found["difference"], tolerance * found["largest"], found)

    def check_case(self, case, *words):
        """The recipe of an export whose runs equal transformers'."""
        recipe = self.make(case, *words)
        whole = self.train(recipe, "whole")
        cut = self.train(recipe, "cut", "batch.micro_batch_size=2")
        latest = "outputs/whole/latest"
        trained, exported, saved, held_out = self.references(
            ("train", "model", self.task, self.data, "trained"),
            ("compare", "model", "out", self.task),
            ("compare", "trained", latest, self.task),
            ("evaluate", latest, self.task, self.held_out))
        self.check_losses(whole, trained["losses"])
        self.check_losses(cut, trained["losses"])
        self.check_compared(exported, 0)
        self.check_compared(saved, TRAINED)
        self.check_loss("whole", held_out["loss"])
        return recipe

    def check_evaluation(self, run):
        """The last batch is not full."""
        want = self.reference("evaluate", f"outputs/{run}/latest", self.task, self.held_out)
        self.check_loss(run, want["loss"])

    def check_loss(self, run, want):
        said = self.run_trainx("--json", "eval", f"outputs/{run}", f"data.eval={self.held_out}")
        self.check_losses([json.loads(said.stdout.splitlines()[-1])["eval_loss"]], [want])
