"""BERT on a GPU as a user runs it: the losses and scores of the CPU, with padding and shape
buckets, however the batch is cut, and the same bits twice."""
import json

from gpu_checks import GpuChecks, compute_capability, needs_gpus
from support import Trainx, main, sha256

RECIPE = """\
run: {{name: {name}, duration: 24 steps, seed: 3}}
model: {{type: bert, options: {{num_layers: 2, num_heads: 4, hidden_size: 64, max_positions: 64, vocab_size: 300, initializer_range: 0.1, {options}}}}}
data: {{type: jsonl, train: train.jsonl, eval: held_out.jsonl, sequence_length: 64}}
batch: {{global_batch_size: 16, micro_batch_size: 8}}
optimizer: {{type: adamw, lr: 1e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: constant}}
eval: {{every: 12 steps, batches: 4}}
metrics: {{every: 1 steps}}
"""
OPTIONS = {
    "classification": "task: classification, num_labels: 3",
    "masked_lm": "task: masked_lm, mask_probability: 0.2, mask_token: 103, special_tokens: [0, 101, 102, 103]"
}
# Heads of 64 on rows that kernels for Hopper take, four samples a step in their order.
WIDE = ("model.options.num_heads=2", "model.options.hidden_size=128",
        "model.options.max_positions=160", "data.sequence_length=160", "data.shuffle=false",
        "batch.global_batch_size=4", "batch.micro_batch_size=2")


@needs_gpus(1)
class BertOnGpu(GpuChecks, Trainx):
    on_gpu = True

    def write_data(self, shortest):
        for name in ("train", "held_out"):
            with open(self.folder / f"{name}.jsonl", "w") as out:
                for _ in range(200):
                    n = self.random.randrange(shortest, 65)
                    ids = [self.random.randrange(104, 300) for _ in range(n)]
                    print(
                        json.dumps({
                            "input_ids": ids, "token_type_ids": [int(i > n // 2) for i in range(n)],
                            "label": (ids[0] + ids[-1]) % 3
                        }), file=out)
                # More targets than a batch is expected to have.
                if name == "train" and "masked_lm" in self.id():
                    for _ in range(40):
                        ids = [self.random.randrange(104, 300) for _ in range(64)]
                        print(json.dumps({"input_ids": ids, "labels": ids}), file=out)

    def write_by_turns(self):
        """Steps of whole rows and steps with padding, by turns."""
        for name in ("train", "held_out"):
            with open(self.folder / f"{name}.jsonl", "w") as out:
                for i in range(96):
                    n = 160 if i // 4 % 2 == 0 else self.random.randrange(3, 161)
                    print(
                        json.dumps({
                            "input_ids": [self.random.randrange(104, 300) for _ in range(n)],
                            "label": i % 3
                        }), file=out)

    def train(self, task, name, *more):
        recipe = self.recipe(RECIPE.format(name=name, options=OPTIONS[task]), f"{name}.yaml")
        self.run_trainx("train", recipe, *more)
        lines = [
            json.loads(line)
            for line in (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()
        ]
        return [m["loss"] for m in lines if "loss" in m], [m for m in lines if "eval_loss" in m][-1]

    def compare(self, task):
        for k, more in enumerate(([], ["model.options.dropout=0.1"], [
                "memory.activation_checkpoint=selective", "batch.micro_batch_size=16",
                "data.pad_to=[20,40,64]"
        ], [
                "memory.activation_checkpoint=full", "batch.micro_batch_size=4",
                "model.options.dropout=0.1"
        ])):
            with self.subTest(more=more):
                losses, scores = self.train(task, f"cpu{k}", "run.device=cpu", *more)
                for precision, tolerance in (("fp32", 1e-4), ("bf16", 3e-2)):
                    got, got_scores = self.train(task, f"gpu{k}{precision}", "run.device=gpu",
                                                 f"precision={precision}", *more)
                    worst = max(abs(g / w - 1) for g, w in zip(got, losses))
                    print(
                        f"  {task} {more} {precision}: largest relative difference of losses {worst:.1e}, accuracy {got_scores['eval_accuracy']:.4f} for {scores['eval_accuracy']:.4f}"
                    )
                    self.assertEqual(len(got), len(losses))
                    self.assertLess(worst, tolerance)
                    self.assertEqual(got_scores["eval_targets"], scores["eval_targets"])
                    self.assertLess(abs(got_scores["eval_loss"] / scores["eval_loss"] - 1),
                                    tolerance)
                    self.assertLessEqual(
                        abs(got_scores["eval_accuracy"] - scores["eval_accuracy"]) *
                        scores["eval_targets"], 1 if precision == "fp32" else 8)

    def test_classification_with_padding(self):
        self.write_data(3)
        self.compare("classification")

    def test_classification_without_padding(self):
        self.write_data(64)
        self.compare("classification")

    def test_masked_lm_with_padding(self):
        self.write_data(3)
        self.compare("masked_lm")

    def test_masked_lm_without_padding(self):
        self.write_data(64)
        self.compare("masked_lm")

    def test_attention_by_each_kind(self):
        """With padding and without, as auto; deterministic runs repeat to the bit."""
        for shortest in (3, 64):
            self.write_data(shortest)
            for precision, tolerance, kinds in (("fp32", 1e-4, ("efficient", "math")),
                                                ("bf16", 3e-2, ("cudnn", "flash", "efficient",
                                                                "math"))):
                usual, usual_scores = self.train("masked_lm", f"auto{shortest}{precision}",
                                                 "run.device=gpu", f"precision={precision}")
                for kind in kinds:
                    with self.subTest(shortest=shortest, precision=precision, kind=kind):
                        fixed = ("run.device=gpu", f"precision={precision}",
                                 f"model.attention={kind}", "run.deterministic=true")
                        got, scores = self.train("masked_lm", f"{kind}{shortest}{precision}",
                                                 *fixed)
                        worst = max(abs(g / w - 1) for g, w in zip(got, usual))
                        print(
                            f"  {kind} {precision}, shortest {shortest}: largest relative difference of losses {worst:.1e}"
                        )
                        self.assertEqual(len(got), len(usual))
                        self.assertLess(worst, tolerance)
                        self.assertLess(abs(scores["eval_loss"] / usual_scores["eval_loss"] - 1),
                                        tolerance)
                        again, _ = self.train("masked_lm", f"{kind}{shortest}{precision}again",
                                              *fixed)
                        self.assertEqual(again, got)

    def test_the_same_bits_twice(self):
        self.write_data(3)
        for task in OPTIONS:
            for precision in ("fp32", "bf16"):
                with self.subTest(task=task, precision=precision):
                    runs = [f"{task}{precision}{k}" for k in range(2)]
                    for name in runs:
                        self.train(task, name, "run.device=gpu", f"precision={precision}",
                                   "run.deterministic=true", "model.options.dropout=0.1")
                    self.assertEqual(*(sha256(self.weights(name)) for name in runs))

    def test_rows_with_and_without_padding_by_kernels_for_hopper(self):
        """Steps of both in one run: the losses of the CPU, also in shapes of which other kernels
        compute some; the same bits twice, launched one by one, recomputed and resumed; memory as
        planned."""
        self.write_by_turns()
        fixed = ("run.device=gpu", "precision=bf16", "run.deterministic=true", *WIDE)
        for shapes in ((), ("data.pad_to=[64,128,160]",)):
            with self.subTest(shapes=shapes):
                names = [f"{place}{len(shapes)}" for place in ("cpu", "gpu")]
                want, scores = self.train("masked_lm", names[0], "run.device=cpu", *WIDE, *shapes)
                got, got_scores = self.train("masked_lm", names[1], *fixed, *shapes)
                worst = max(abs(g / w - 1) for g, w in zip(got, want))
                print(f"  by turns {shapes}: largest relative difference of losses {worst:.1e}")
                self.assertEqual(len(got), len(want))
                self.assertLess(worst, 3e-2)
                self.assertLess(abs(got_scores["eval_loss"] / scores["eval_loss"] - 1), 3e-2)
                self.check_memory(names[1])
        plan = json.loads((self.folder / "outputs" / "gpu0" / "plan.json").read_text())
        self.assertTrue(
            plan["attention"].startswith("auto: trainx's " if compute_capability() ==
                                         9.0 else "auto: cuDNN's "), plan["attention"])
        whole = sha256(self.weights("gpu0"))
        for name, more in (("again", ()), ("eager", ("run.execution=eager", )),
                           ("full", ("memory.activation_checkpoint=full", )),
                           ("selective", ("memory.activation_checkpoint=selective", ))):
            self.train("masked_lm", name, *fixed, *more)
            self.assertEqual(sha256(self.weights(name)), whole, name)
        # stopped between a step of whole rows and one with padding
        self.train("masked_lm", "halves", *fixed, "run.duration=11 steps")
        self.train("masked_lm", "halves", *fixed)
        self.assertEqual(sha256(self.weights("halves")), whole)


if __name__ == "__main__":
    main()
