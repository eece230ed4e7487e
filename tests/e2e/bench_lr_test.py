"""trainx bench lr: the learning rate rises as it says, the suggestions follow from the losses,
nothing is left of the run."""

import json
import pathlib
import signal
import subprocess
import time
import unittest

from support import TRAINX, Trainx, main, tiny

STEPS, FROM, TO = 60, 1e-5, 100


class BenchLr(Trainx):
    forks = True

    def files(self):
        return sorted(
            p.relative_to(self.folder).as_posix() for p in (self.folder / "outputs").rglob("*")
        )

    def test_finds_a_learning_rate_and_leaves_no_run(self):
        recipe = self.recipe(tiny(dropout=0))
        done = self.run_trainx(
            "bench", "lr", recipe, "--steps", STEPS, "--from", FROM, "--to", TO, "--json"
        )
        found = json.loads(done.stdout)
        self.assertEqual(found["name"], "tiny")
        for i, point in enumerate(found["points"]):
            want = FROM * (TO / FROM) ** (i / (STEPS - 1))
            self.assertAlmostEqual(point["lr"] / want, 1, places=9)
        losses = [p["loss"] for p in found["points"]]
        self.assertLess(min(x for x in losses if x is not None), losses[0])
        self.assertIsNotNone(
            found["diverged_at"], "no model of 32 dimensions survives a learning rate of 100"
        )
        self.assertLess(len(losses), STEPS, "a test that diverged goes no further")
        self.assertEqual(found["diverged_at"], found["points"][-1]["lr"])
        self.assertAlmostEqual(found["tenth_of_divergence"], found["diverged_at"] / 10)
        self.assertTrue(1e-4 < found["steepest"] < found["diverged_at"], found["steepest"])
        print(
            f"  {len(losses)} steps, steepest {found['steepest']:.1e}, "
            f"diverged at {found['diverged_at']:.1e}"
        )
        self.assertEqual(
            self.files(), ["outputs/tiny.lr", "outputs/tiny.lr/lr.html", "outputs/tiny.lr/lr.json"]
        )
        self.assertEqual(json.loads((self.folder / "outputs/tiny.lr/lr.json").read_text()), found)
        self.assertIn("<svg", (self.folder / "outputs/tiny.lr/lr.html").read_text())

    def test_the_recipe_s_own_schedule_evaluation_and_environment_change_nothing(self):
        plain = self.recipe(tiny(dropout=0))
        options = ("--steps", 8, "--from", 1e-5, "--to", 1e-3, "--json")
        first = json.loads(self.run_trainx("bench", "lr", plain, *options).stdout)
        again = self.run_trainx(
            "bench",
            "lr",
            plain,
            "schedule={type: linear, warmup: 3 steps}",
            "eval.every=2 steps",
            "run.duration=1 epoch",
            *options,
            env=self.environment(TRAINX_SET="optimizer.lr=5 run.duration=3 steps"),
        )
        self.assertEqual(json.loads(again.stdout)["points"], first["points"])
        self.assertIsNone(first["diverged_at"])
        self.assertIsNone(first["tenth_of_divergence"])
        self.assertEqual(len(first["points"]), 8)

    def test_a_table_for_people(self):
        done = self.run_trainx(
            "bench", "lr", self.recipe(tiny()), "--steps", 10, "--to", 0.1, "--out", "here"
        )
        numbers = [line for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
        self.assertEqual(len(numbers), 10)
        self.assertTrue((self.folder / "here" / "lr.html").exists())
        self.assertFalse((self.folder / "outputs").exists())

    def test_interrupted_it_leaves_nothing_running_and_no_run(self):
        recipe = self.recipe(tiny())
        process = subprocess.Popen(
            [TRAINX, "bench", "lr", recipe, "--steps", "100000", "--to", "1e-3"],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        metrics = self.folder / "outputs" / "tiny.lr" / "run.unfinished" / "run" / "metrics.jsonl"
        while not metrics.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 130)
        self.assertEqual(self.files(), ["outputs/tiny.lr"])
        for _ in range(100):  # a worker that was killed is gone a little later
            working = [p for p in pathlib.Path("/proc").glob("[0-9]*/cwd") if self.same(p)]
            if not working:
                break
            time.sleep(0.02)
        self.assertEqual(working, [])

    def same(self, link):
        try:
            return link.resolve() == self.folder.resolve()
        except OSError:
            return False

    def test_what_cannot_be_measured_is_refused(self):
        recipe = self.recipe(tiny())
        self.run_trainx("bench", "lr", recipe, "--from", 1, "--to", 0.1, expect=2)
        self.run_trainx("bench", "lr", recipe, "--from", 0, expect=2)
        self.run_trainx("bench", "lr", recipe, "--steps", 1, expect=2)
        self.run_trainx(
            "bench",
            "lr",
            recipe,
            "optimizer={type: adafactor, lr: 1e-3, options: {relative_step: true}}",
            expect=78,
        )
        self.run_trainx(
            "bench",
            "lr",
            recipe,
            env=self.environment(
                RANK="0",
                WORLD_SIZE="2",
                LOCAL_RANK="0",
                LOCAL_WORLD_SIZE="2",
                MASTER_ADDR="localhost",
                MASTER_PORT="29999",
            ),
            expect=2,
        )
        self.assertFalse((self.folder / "outputs" / "tiny.lr" / "lr.json").exists())

    def test_the_schedule_is_a_schedule_of_recipes(self):
        recipe = self.recipe(
            tiny(steps=5).replace(
                "{type: cosine, warmup: 5 steps}", "{type: range_test, initial_ratio: 0.01}"
            )
        )
        self.run_trainx("train", recipe)
        rates = [m["lr"] for m in self.metrics("tiny")]
        for i, lr in enumerate(rates):
            self.assertAlmostEqual(lr / (3e-3 * 0.01 ** (1 - i / 4)), 1, places=9)
        self.run_trainx("validate", recipe, "schedule.final_ratio=0.1", expect=78)
        self.run_trainx("validate", recipe, "schedule.initial_ratio=1", expect=78)


if __name__ == "__main__":
    main()
