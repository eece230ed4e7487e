"""Evaluation in another type than training's, as a user meets it: the loss of fp32 within rounding, and training that does not notice."""
import json

from support import Trainx, main, sha256, tiny

TOLERANCE = {"bf16": 1e-2, "fp16": 2e-3}


class EvalPrecision(Trainx):
    def eval_losses(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]

    def check(self, recipe, compute, precision):
        for name, more in (("same", ()), ("other", (f"eval.precision={precision}",))):
            self.run_trainx("train", recipe, f"run.name={name}-{compute}-{precision}", f"precision.compute={compute}", *more)
        same, other = (f"{name}-{compute}-{precision}" for name in ("same", "other"))
        self.assertEqual([m["loss"] for m in self.metrics(other)], [m["loss"] for m in self.metrics(same)])
        self.assertEqual(sha256(self.weights(other)), sha256(self.weights(same)))
        exact, got = self.eval_losses(same), self.eval_losses(other)
        self.assertGreater(len(exact), 1)
        self.assertEqual(len(got), len(exact))
        for a, b in zip(exact, got):
            self.assertLess(abs(b / a - 1), max(TOLERANCE[precision], TOLERANCE.get(compute, 0)), (exact, got))
        self.assertNotEqual(got, exact)         # it did compute otherwise
        return other, got

    def test_losses_of_fp32_and_training_left_alone(self):
        recipe = self.recipe(tiny(40, every=20))
        for precision in TOLERANCE:
            with self.subTest(precision=precision):
                run, losses = self.check(recipe, "fp32", precision)
                # The whole held-out set by the command, in the type that the run was given.
                answer = json.loads(self.run_trainx("eval", f"outputs/{run}", "--json").stdout.splitlines()[-1])
                self.assertLess(abs(answer["eval_loss"] / losses[-1] - 1), 1e-6, answer)

    def test_training_in_16_bits_evaluated_in_the_other_16(self):
        recipe = self.recipe(tiny(40, every=20))
        self.check(recipe, "bf16", "fp16")
        self.check(recipe, "fp16", "bf16")

    def test_bert_rows_of_many_lengths(self):
        for name, rows in (("train", 64), ("held", 17)):
            with open(self.folder / f"{name}.jsonl", "w") as out:
                for _ in range(rows):
                    print(json.dumps({"input_ids": [self.random.randrange(104, 200) for _ in range(self.random.randrange(6, 65))], "label": self.random.randrange(3)}), file=out)
        text = ("run: {duration: 6 steps}\nmodel: {type: bert, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 64, vocab_size: 200, task: classification, num_labels: 3}}\n"
                "data: {type: jsonl, train: train.jsonl, eval: held.jsonl, sequence_length: 64}\nbatch: {global_batch_size: 8}\neval: {every: 3 steps, batches: 20}\nmetrics: {every: 1 steps}\n")
        self.check(self.recipe(text), "fp32", "bf16")

    def test_the_plan_says_it(self):
        recipe = self.recipe(tiny())
        said = self.run_trainx("plan", recipe, "eval.precision=bf16").stdout
        self.assertRegex(said, r"evaluation +bf16\b.* [0-9.]+ [KMG]iB\b")
        self.assertNotRegex(self.run_trainx("plan", recipe).stdout, r"evaluation +\w")

    def test_what_can_have_no_effect_or_cannot_work_is_refused(self):
        recipe = self.recipe(tiny(precision="bf16"))
        done = self.run_trainx("validate", recipe, "eval.precision=bf16", expect=78)
        self.assertIn("eval.precision", done.stderr)
        self.assertIn("precision.compute: bf16", done.stderr)


if __name__ == "__main__":
    main()
