"""Evaluation in another type than training's, as a user meets it. tests/equality/precision.yaml
holds that training does not notice, and that losses are near."""
import json

from support import Trainx, main, tiny


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
