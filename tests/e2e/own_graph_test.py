"""Graphs of modules with fields and losses of their own, built against an install tree: numbers are
those of a plain LibTorch loop, whatever the passes and however the batch is cut."""
import json
import math
import os
import struct
import subprocess
import sys

import support
from install_tree import InstallTree
from saved_tensors import tensors
from support import ROOT, main, sampled, sha256

STEPS, BATCH, HELD_OUT, SEED, LR = 8, 16, 21, 7, "1e-2"
RECIPE = f"""\
run: {{name: base, duration: {STEPS} steps, seed: {SEED}}}
model: {{type: MODEL}}
data: {{type: jsonl, train: train.jsonl, eval: eval.jsonl, sequence_length: 1, shuffle: false}}
batch: {{global_batch_size: {BATCH}, micro_batch_size: {BATCH}}}
optimizer: {{type: adamw, lr: {LR}, options: {{weight_decay: 0.1}}}}
metrics: {{every: 1 steps}}
"""


def flat(value):
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


class OwnGraph:
    """Tests that hold for each example."""
    MODEL = MAKE = LOOP = METRIC = ""
    FIELDS = ()

    def setUp(self):
        super().setUp()
        for name, count, seed in (("train", STEPS * BATCH, 1), ("eval", HELD_OUT, 2)):
            subprocess.run([sys.executable, str(ROOT / "examples" / self.EXAMPLES[0] / self.MAKE),
                            str(count), f"{name}.jsonl", str(seed)], cwd=self.folder, check=True)
            with open(self.folder / f"{name}.bin", "wb") as out:
                for line in (self.folder / f"{name}.jsonl").read_text().splitlines():
                    sample = json.loads(line)
                    numbers = [x for field in self.FIELDS for x in flat(sample[field])]
                    out.write(struct.pack(f"<{len(numbers)}d", *numbers))
        self.config = self.recipe(RECIPE.replace("MODEL", self.MODEL), "base.yaml")
        self.run_plain()

    def run_plain(self, *variant):
        done = subprocess.run([self.built(self.LOOP), "train.bin", "eval.bin", str(STEPS),
                               str(BATCH), str(SEED), LR, *variant], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        rows = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), STEPS + 1)
        self.plain, self.plain_eval = rows[:-1], rows[-1]
        self.assertLess(self.plain[-1][0], 0.95 * self.plain[0][0])          # it learns

    def lines(self, name):
        text = (self.folder / "outputs" / name / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def train(self, name, *settings):
        self.ask("train", self.config, f"run.name={name}", *settings)
        return self.metrics(name)

    def assert_plain(self, name, tolerance=1e-6):
        steps = self.metrics(name)
        self.assert_close([m["loss"] for m in steps], [row[0] for row in self.plain], tolerance)
        self.assert_close([m[self.METRIC] for m in steps], [row[1] for row in self.plain], 1e-9)
        last = [m for m in self.lines(name) if "eval_loss" in m][-1]
        self.assert_close([last["eval_loss"], last["eval_" + self.METRIC]], self.plain_eval,
                          tolerance)
        self.assertEqual(last["eval_targets"], HELD_OUT)

    @sampled
    def test_losses_and_metrics_are_those_of_a_plain_loop_however_the_batch_is_cut(self):
        for micro in self.drawn((16, 8, 2)):
            self.train(f"cut{micro}", f"batch.micro_batch_size={micro}")
            self.assert_plain(f"cut{micro}")
        other = self.train("other", "run.seed=8")[0]["loss"]
        self.assertFalse(abs(other / self.plain[0][0] - 1) <= 1e-5)   # it sees other weights

    @sampled
    def test_worlds_compute_the_same(self):
        cut, recomputed = ["batch.micro_batch_size=4"], "memory.activation_checkpoint=full"
        cases = [(mode, cut) for mode in ("ddp", "dp", "zero1", "zero2", "zero3")]
        # a block's weights lie elsewhere in backward than in forward
        cases.append(("zero3", ["batch.micro_batch_size=8", recomputed]))
        for mode, how in self.drawn(cases):
            name = f"world-{mode}-{len(how)}"
            self.train(name, f"parallel.mode={mode}", "parallel.world_size=2", *how)
            self.assert_plain(name)

    @sampled
    def test_passes_change_no_bit(self):
        cut = ["batch.micro_batch_size=4"]
        want = self.train("none", *cut)
        for name, *how in self.drawn((("recomputed", "memory.activation_checkpoint=full"),
                                      ("states", "memory.optimizer_offload.where=cpu"),
                                      ("weights", "memory.parameter_offload=cpu"))):
            got = self.train(name, *cut, *how)
            self.assertEqual([m["loss"] for m in got], [m["loss"] for m in want], name)
            self.assertEqual(sha256(self.weights(name)), sha256(self.weights("none")), name)
        free = ["optimizer.max_grad_norm=0"]
        want = [m["loss"] for m in self.train("whole", *free)]
        early = self.train("early", *free, "optimizer.update_in_backward=true")
        self.assertEqual([m["loss"] for m in early], want)
        low = self.train("low", *cut, "precision.compute=bf16")
        self.assert_close([m["loss"] for m in low], [row[0] for row in self.plain], 0.1)
        self.assertNotEqual([m["loss"] for m in low], want)

    def test_a_resumed_run_is_the_run(self):
        every = ["metrics.every=3 steps", "batch.micro_batch_size=8"]
        self.train("whole", *every)
        self.train("parts", *every, "run.duration=4 steps")
        self.train("parts", *every)
        # the first part ends with a line of its own, of step 4, from which the next one counts
        values = lambda name: [(m["step"], m["loss"], m[self.METRIC]) for m in self.metrics(name)
                               if m["step"] not in (4, 6)]
        self.assertEqual([step for step, *_ in values("whole")], [1, 3, 8])
        self.assertEqual(values("parts"), values("whole"))
        self.assertEqual(sha256(self.weights("parts")), sha256(self.weights("whole")))

    def test_what_is_saved_is_evaluated_exported_and_trained_on(self):
        said = self.ask("train", self.config).stderr
        self.assertIn(self.METRIC, said)
        with open(self.weights("base"), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        self.check_names(set(header) - {"__metadata__"})
        answer = json.loads(self.ask("--json", "eval", "outputs/base").stdout.splitlines()[-1])
        self.assert_close([answer["eval_loss"], answer["eval_" + self.METRIC]], self.plain_eval,
                          1e-6)
        self.assertNotIn("eval_perplexity", answer)
        self.ask("export", "outputs/base", "exported")
        again = self.train("again", "model.init_from=exported")
        self.assertLess(again[0]["loss"], self.plain[0][0])
        self.ask("report", "outputs/base")
        page = (self.folder / "outputs" / "base" / "report.html").read_text()
        self.assertIn(self.METRIC, page)

    def test_bad_lines_and_recipes_are_refused(self):
        lines = (self.folder / "train.jsonl").read_text().splitlines()
        sample = json.loads(lines[2])
        del sample[self.FIELDS[0]]
        bad = lines[:2] + [json.dumps(sample)] + lines[3:]
        (self.folder / "bad.jsonl").write_text("\n".join(bad) + "\n")
        said = self.ask("train", self.config, "data.train=bad.jsonl", expect=65).stderr
        self.assertIn("bad.jsonl:3", said)
        self.assertIn(self.FIELDS[0], said)
        for setting, code, part in (("data.sequence_length=4", 78, "data.sequence_length: 1"),
                                    ("eval.best.metric=perplexity", 78, "perplexity"),
                                    ("run.device=gpu", 69, "run.device")):
            said = self.ask("train", self.config, setting, expect=code).stderr
            self.assertIn(part, said, setting)


class ConvolutionalClassifier(OwnGraph, InstallTree):
    EXAMPLES, WORKER, LOOP = ("convolutional_classifier",), "image-worker", "image-loop"
    MODEL, MAKE, METRIC, FIELDS = "classifier", "make_images.py", "accuracy", ("image", "label")

    def check_names(self, names):
        self.assertLessEqual({"stem.fine.weight", "coarse-block.norm.bias", "head.linear.weight"},
                             names)

    def test_running_statistics_are_saved_evaluated_and_resumed(self):
        how = ["model.options.batch_norm=true"]
        self.run_plain("batch_norm")
        self.train("whole", *how)
        self.assert_plain("whole")                        # the evaluation's are the running ones
        self.train("parts", *how, "run.duration=4 steps")
        self.train("parts", *how)
        files = [self.weights(name).parent / "buffers.safetensors" for name in ("whole", "parts")]
        self.assertEqual(sha256(files[0]), sha256(files[1]))
        self.assertEqual(sha256(self.weights("parts")), sha256(self.weights("whole")))
        self.ask("export", "outputs/whole", "exported")
        self.assertEqual(sha256(self.folder / "exported" / "buffers.safetensors"),
                         sha256(files[0]))
        answer = json.loads(self.ask("--json", "eval", "outputs/whole").stdout.splitlines()[-1])
        self.assert_close([answer["eval_loss"]], self.plain_eval[:1], 1e-6)
        ranks = self.train("ranks", *how, "parallel.mode=ddp", "parallel.world_size=2",
                           "batch.micro_batch_size=8")
        self.assertTrue(ranks[-1]["loss"] < self.plain[0][0])
        said = self.ask("train", self.config, *how, "memory.activation_checkpoint=full",
                        expect=78).stderr
        self.assertIn("fine-block", said)
        self.assertIn("norm.running_mean", said)
        (self.folder / "exported" / "buffers.safetensors").unlink()
        said = self.ask("train", self.config, *how, "run.name=without",
                        "model.init_from=exported", expect=65).stderr
        self.assertIn("buffers.safetensors", said)


class TwoTowers(OwnGraph, InstallTree):
    EXAMPLES, WORKER, LOOP = ("two_towers",), "tower-worker", "tower-loop"
    MODEL, MAKE, METRIC, FIELDS = "towers", "make_pairs.py", "first", ("query", "documents")

    def check_names(self, names):
        self.assertIn("query-tower.table", names)
        self.assertNotIn("document-tower.table", names)      # tied: saved once
        saved = tensors(self.weights("base"))["loss.log_temperature"]
        self.assertEqual(saved[:2], ("F32", []))
        self.assertNotEqual(saved[2], struct.pack("<f", math.log(0.1)))     # it was trained


if __name__ == "__main__":
    assert os.path.exists(support.TRAINX), f"{support.TRAINX} is not built"
    main()
