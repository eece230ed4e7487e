"""precision.fallback on CPUs: a tensor that saturates takes its products out of fp8, and says so.
tests/equality/fp8.yaml holds that ranks and stopped runs do the same."""
import json

from support import Trainx, main, tiny

# models this small gain nothing from fp8 on a GPU
PLAIN = "{compute: bf16, products: fp8, small_products: fp8, scaling: delayed}"
FP8 = (
    "{compute: bf16, products: fp8, small_products: fp8, scaling: delayed, fallback: 0.1, "
    "fallback_window: 4}"
)
C_ATTN = "h.0.attn.c_attn.weight"


class Fallback(Trainx):
    forks = True

    def state(self, run):
        return json.loads(
            (self.folder / "outputs" / run / "latest" / "trainer_state.json").read_text())

    def fallbacks(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        told = [m for m in map(json.loads, lines) if "fp8_fallback" in m]
        return [(m["step"], m["fp8_fallback"], m["fp8_fallback_products"]) for m in told]

    def losses(self, run):
        return {m["step"]: m["loss"] for m in self.metrics(run)}

    def saturating(self, match=f"*{C_ATTN}"):
        """A recipe whose first update makes weights so large that the second step cuts them: its
        scales are of the first one."""
        text = tiny(20, every=100, precision=FP8).replace("cosine, warmup: 5 steps", "constant")
        return self.recipe(
            text.replace("lr: 3e-3,", f'lr: 3e-3, groups: [{{match: "{match}", lr: 0.3}}],'))

    def train(self, recipe, name, *settings, **how):
        return self.run_trainx("train", recipe, f"run.name={name}", *settings, **how)

    def test_a_tensor_that_saturates_falls_back_and_the_loss_goes_on(self):
        recipe = self.saturating()
        done = self.train(recipe, "run")
        [said] = [line for line in done.stderr.splitlines() if "precision.fallback (" in line]
        self.check_sentence("precision.fallback", said, numbers="any")
        for word in ("step 4", f"weight of {C_ATTN}", "4 steps", "10 %", "bf16", "step 5"):
            self.assertIn(word, said)
        self.assertEqual(self.state("run")["fp8_fallback"], [C_ATTN])
        self.assertEqual(self.fallbacks("run"), [(4, C_ATTN, 1)])
        losses = self.losses("run")
        self.assertEqual(sorted(losses), list(range(1, 21)))
        self.assertLess(losses[20], losses[1])
        plan = json.loads((self.folder / "outputs" / "run" / "plan.json").read_text())
        self.assertIn("1 of 8", plan["products"])
        self.run_trainx("report", "outputs/run")
        self.run_trainx("eval", "outputs/run")

    def test_the_event_is_told_to_programs(self):
        done = self.train(self.saturating(), "run", "run.duration=9 steps", "--json")
        events = [json.loads(line) for line in done.stdout.splitlines()]
        [told] = [e for e in events if e["event"] == "fp8_fallback"]
        self.assertEqual((told["step"], told["weights"], told["products"]), (4, [C_ATTN], 1))
        self.assertEqual([e["step"] for e in events if e["event"] == "resume"], [4])
        for name in ("start", "done"):
            self.assertEqual(sum(e["event"] == name for e in events), 1, name)

    def test_all_products_may_fall_back(self):
        recipe = self.saturating(match="*")
        self.train(recipe, "run", "run.duration=8 steps")
        self.assertEqual(len(self.state("run")["fp8_fallback"]), 8)
        self.assertNotIn("fp8_ranges", self.state("run"))
        self.assertNotIn("fp8_flushed_inputs", self.metrics("run")[-1])
        self.train(recipe, "run", "run.duration=12 steps")
        self.assertEqual(len(self.losses("run")), 12)

    def test_what_can_have_no_effect_is_refused(self):
        for precision in ("bf16", "{compute: bf16, products: fp8}"):
            recipe = self.recipe(tiny(precision=precision))
            self.refused("validate", recipe, "precision.fallback=0.01", key="precision.fallback",
                         names=("delayed", ))
            self.refused("validate", recipe, "precision.fallback_window=10",
                         key="precision.fallback_window", names=("delayed", ))
        recipe = self.recipe(tiny(precision=PLAIN))
        self.refused("validate", recipe, "precision.fallback=1.5", key="precision.fallback")


if __name__ == "__main__":
    main()
