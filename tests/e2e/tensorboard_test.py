"""`metrics.tensorboard`: TensorBoard's own reader finds in it what metrics.jsonl has, also of a run that was killed and goes on."""
import json
import time
import unittest

import reference
from support import Trainx, main, tiny


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with tensorboard (scripts/setup --reference installs one)")
class TensorBoard(Trainx):
    forks = True

    def read(self):
        return reference.ask(self, "reference_tensorboard.py", self.folder / "outputs" / "tiny" / "tensorboard")

    def logged(self):
        want = {}
        for line in (self.folder / "outputs" / "tiny" / "metrics.jsonl").read_text().splitlines():
            values = json.loads(line)
            for key, value in values.items():
                if key not in ("step", "unix_time_s") and isinstance(value, (int, float)):
                    want.setdefault(f"eval/{key[5:]}" if key.startswith("eval_") else f"train/{key}", []).append([values["step"], value])
        return want

    def check(self):
        got, want = self.read(), self.logged()
        self.assertEqual(sorted(got), sorted(want))
        for tag, points in want.items():
            self.assertEqual([step for step, _ in got[tag]], [step for step, _ in points], tag)
            for (_, a), (_, b) in zip(got[tag], points):
                self.assertAlmostEqual(a, b, delta=1e-6 * abs(b))

    def test_it_has_what_the_log_has(self):
        self.run_trainx("train", self.recipe(tiny(steps=40)), "metrics.tensorboard=true")
        self.check()
        self.assertIn("eval/loss", self.read())

    def test_a_run_that_was_killed_goes_on_in_it(self):
        recipe, log = self.recipe(tiny(steps=400, every=20)), self.folder / "outputs" / "tiny" / "metrics.jsonl"
        running = self.start_trainx("train", recipe, "metrics.tensorboard=true")
        while running.poll() is None and not (log.exists() and len(log.read_text().splitlines()) > 50):
            time.sleep(0.02)
        self.kill(running)
        self.run_trainx("train", recipe, "metrics.tensorboard=true", "run.duration=400 steps")
        self.check()
        self.assertGreater(len(list((self.folder / "outputs" / "tiny" / "tensorboard").iterdir())), 1)

    def test_it_is_not_written_unless_asked_for(self):
        self.run_trainx("train", self.recipe(tiny(steps=2)), "schedule.warmup=0 steps")
        self.assertFalse((self.folder / "outputs" / "tiny" / "tensorboard").exists())


if __name__ == "__main__":
    main()
