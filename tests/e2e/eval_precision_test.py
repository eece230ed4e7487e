"""Evaluation in another type than training's, as a user meets it. tests/equality/precision.yaml
holds that training does not notice, and that losses are near."""
import json
import subprocess
import sys

from support import TRAINX, Trainx, main, tiny

# KiB that the largest of a command's processes took
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"""


class EvalPrecision(Trainx):
    forks = True

    def eval_losses(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]

    def test_the_eval_command_evaluates_in_the_type_of_the_run(self):
        recipe = self.recipe(tiny(20))
        losses = {}
        for name, more in (("same", ()), ("other", ("eval.precision=bf16",))):
            self.run_trainx("train", recipe, f"run.name={name}", *more)
            [losses[name]] = self.eval_losses(name)
        self.assertLess(abs(losses["other"] / losses["same"] - 1), 1e-2)
        self.assertNotEqual(losses["other"], losses["same"])
        # The whole held-out set, in the type that the run was given.
        done = self.run_trainx("eval", "outputs/other", "--json")
        answer = json.loads(done.stdout.splitlines()[-1])
        self.assertLess(abs(answer["eval_loss"] / losses["other"] - 1), 1e-6, answer)

    def test_the_eval_command_keeps_weights_of_16_bits_alone(self):
        """2 bytes for each parameter instead of 4, and nothing beside."""
        recipe = self.recipe(
            tiny(5).replace("num_layers: 2, num_heads: 2, hidden_size: 32",
                            "num_layers: 6, num_heads: 4, hidden_size: 512"))
        self.run_trainx("train", recipe)
        measured = [sys.executable, "-c", PEAK, TRAINX, "eval", "outputs/tiny", "eval.batches=1"]
        taken, losses = {}, {}
        for precision in ("auto", "bf16", "fp16"):
            words = [*measured, f"eval.precision={precision}", "--json"]
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                                  env=self.environment(), check=True)
            losses[precision] = json.loads(done.stdout.splitlines()[-1])["eval_loss"]
            taken[precision] = int(done.stderr.split()[-1]) * 1024
        print(f"  at most {taken}, losses {losses}")
        for precision, near in (("bf16", 1e-2), ("fp16", 2e-3)):
            self.assertLess(abs(losses[precision] / losses["auto"] - 1), near)
            self.assertLess(taken[precision], taken["auto"] - 18e6)

    def test_a_run_in_16_bits_is_evaluated_without_its_exact_weights(self):
        for precision in ("bf16", "fp16"):
            recipe = self.recipe(tiny(20, precision=precision))
            self.run_trainx("train", recipe, f"run.name={precision}")
            [trained] = self.eval_losses(precision)
            done = self.run_trainx("eval", f"outputs/{precision}", "--json")
            loss = json.loads(done.stdout.splitlines()[-1])["eval_loss"]
            self.assertLess(abs(loss / trained - 1), 1e-6, precision)
            # what only training may not do is refused as before
            self.run_trainx("validate", recipe, "precision.compute=fp16", "precision.master=none",
                            expect=78)

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
