"""trainx sweep: a run for each combination, one table, resumed where it was stopped."""

import json
import signal
import subprocess
import time
import unittest

from support import TRAINX, Trainx, main, tiny


class Sweep(Trainx):
    forks = True

    def sweep(self, *args, expect=0, env=None):
        return self.run_trainx("sweep", *args, expect=expect, env=env)

    def numbers(self):
        return json.loads((self.folder / "outputs" / "tiny-sweep" / "sweep.json").read_text())[
            "runs"
        ]

    def runs(self):
        return sorted(p.parent.name for p in (self.folder / "outputs").glob("*/metrics.jsonl"))

    def test_each_combination_is_a_run_and_one_table_sums_them_up(self):
        recipe = self.recipe(tiny(steps=6, every=100))
        done = self.sweep(
            recipe, "optimizer.lr=1e-3,1e-2", "run.seed=1,2", "eval.every=3 steps", "-q"
        )
        names = [
            "tiny-lr-1e-3-seed-1",
            "tiny-lr-1e-3-seed-2",
            "tiny-lr-1e-2-seed-1",
            "tiny-lr-1e-2-seed-2",
        ]
        self.assertEqual(self.runs(), sorted(names))
        numbers = self.numbers()
        self.assertEqual([r["name"] for r in numbers], names)
        self.assertEqual(numbers[3]["values"], {"optimizer.lr": "1e-2", "run.seed": "2"})
        for r in numbers:
            mine = self.metrics(r["name"])
            self.assertEqual((r["exit_code"], r["step"]), (0, 6))
            self.assertEqual(r["train_loss"], mine[-1]["loss"])
            self.assertGreater(r["tokens_per_second"], 0)
            self.assertGreater(r["peak_memory_bytes"], 0)
            evals = [
                json.loads(line)
                for line in (self.folder / "outputs" / r["name"] / "metrics.jsonl")
                .read_text()
                .splitlines()
                if "eval_loss" in line
            ]
            self.assertEqual(r["eval_loss"], evals[-1]["eval_loss"])
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:5]], names)
        for line, r in zip(lines[1:], numbers):
            self.assertEqual(line.split()[-1], "0")
            self.assertIn(f"{r['train_loss']:.4f}", line)
            self.assertIn(f"{r['eval_loss']:.4f}", line)
        best = min(numbers, key=lambda r: r["eval_loss"])
        self.assertIn(best["name"], lines[5])
        # The values are the runs': lr and seed make other losses, and each equals its run alone.
        self.assertEqual(len({r["train_loss"] for r in numbers}), 4)
        self.run_trainx(
            "train",
            recipe,
            "optimizer.lr=1e-2",
            "run.seed=2",
            "eval.every=3 steps",
            "run.name=alone",
        )
        self.assertEqual(self.metrics("alone")[-1]["loss"], numbers[3]["train_loss"])

    def test_finished_runs_are_not_repeated(self):
        recipe = self.recipe(tiny(steps=6, every=100))
        self.sweep(recipe, "run.seed=1,2")
        before = {
            name: (self.folder / "outputs" / name / "metrics.jsonl").read_bytes()
            for name in self.runs()
        }
        first = self.numbers()
        again = self.sweep(recipe, "run.seed=1,2,3", "--json")
        for name, contents in before.items():
            self.assertEqual(
                (self.folder / "outputs" / name / "metrics.jsonl").read_bytes(), contents
            )
        told = json.loads(again.stdout.splitlines()[-1])
        self.assertEqual(told["event"], "sweep")
        self.assertEqual([r["step"] for r in told["runs"]], [6, 6, 6])
        self.assertEqual(told["runs"][:2], first)

    def test_interrupted_it_saves_and_continues(self):
        recipe = self.recipe(tiny(steps=3000, every=100000))
        command = [TRAINX, "sweep", recipe, "run.seed=1,2", "eval.every=100000 steps"]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        metrics = self.folder / "outputs" / "tiny-seed-1" / "metrics.jsonl"
        while (
            not (metrics.exists() and metrics.read_text().count("\n") > 5)
            and process.poll() is None
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        table = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130)
        self.assertEqual([line.split()[-1] for line in table.splitlines()[1:3]], ["130", "-"])
        status = self.status("tiny-seed-1")
        self.assertTrue(status["resumable"])
        self.assertEqual(self.runs(), ["tiny-seed-1"])
        stopped = status["step"]
        self.assertGreater(stopped, 0)
        self.sweep(
            recipe, "run.seed=1,2", "eval.every=100000 steps", f"run.duration={stopped + 20} steps"
        )
        self.assertEqual(
            [(r["exit_code"], r["step"]) for r in self.numbers()], [(0, stopped + 20)] * 2
        )
        steps = [m["step"] for m in self.metrics("tiny-seed-1")]
        self.assertEqual(steps, list(range(1, stopped + 21)))

    def test_a_run_that_fails_does_not_end_the_sweep(self):
        recipe = self.recipe(tiny(steps=6, every=100))
        self.run_trainx(
            "train", recipe, "run.seed=1", "optimizer.lr=7e-3", "run.name=tiny-seed-1"
        )  # another run of this name
        done = self.sweep(recipe, "run.seed=1,2", "--jobs", 2, expect=78)
        self.assertEqual([r["exit_code"] for r in self.numbers()], [78, 0])
        self.assertEqual(
            [r["train_loss"] is None for r in self.numbers()],
            [True, False],
            "the other run's loss is not the sweep's",
        )
        self.assertEqual(done.stdout.splitlines()[1].split()[-1], "78")

    def test_several_jobs_give_the_same_numbers(self):
        recipe = self.recipe(tiny(steps=6, every=100))
        self.sweep(recipe, "run.seed=1,2,3", "--jobs", 3)
        together = {r["name"]: r["train_loss"] for r in self.numbers()}
        for seed in (1, 2, 3):
            self.run_trainx(
                "train",
                recipe,
                f"run.seed={seed}",
                "run.name=alone",
                "run.output_dir=" + f"alone-{seed}",
            )
            alone = [
                json.loads(line)
                for line in (self.folder / f"alone-{seed}" / "alone" / "metrics.jsonl")
                .read_text()
                .splitlines()
            ]
            self.assertAlmostEqual(
                [m for m in alone if "loss" in m][-1]["loss"],
                together[f"tiny-seed-{seed}"],
                places=5,
            )

    def test_wrong_values_are_told_before_any_run(self):
        recipe = self.recipe(tiny())
        self.sweep(recipe, "optimizer.lr=1e-3,fast", expect=78)
        self.sweep(recipe, "batch.micro_batch_size=4,3", expect=78)
        self.sweep(recipe, "optimizer.lrr=1e-3,1e-2", expect=78)
        self.sweep(recipe, "optimizer.lr=1e-3", expect=2)
        self.sweep(recipe, "optimizer.lr=1e-3,", expect=2)
        self.sweep(recipe, "run.name=a,b", expect=2)
        self.sweep(recipe, "run.seed=1,2", "--jobs", 0, expect=2)
        self.sweep(recipe, "run.seed=" + ",".join(map(str, range(1001))), expect=2)
        self.sweep("nothing.yaml", "run.seed=1,2", expect=66)
        self.assertFalse((self.folder / "outputs").exists())

    def test_settings_may_be_longer_than_a_file_s_name(self):
        recipe = self.recipe(tiny())
        longer = "{type: cosine, warmup: " + "0" * 300 + "5 steps}"
        self.run_trainx("validate", recipe, f"schedule={longer}", expect=78)
        buckets = ", ".join(["8", "16", "32"] * 100)
        self.run_trainx("validate", recipe, f"data.pad_to=[{buckets}]", expect=78)
        self.run_trainx("validate", "x" * 300 + ".yaml", expect=74)

    def test_lists_and_maps_are_values(self):
        recipe = self.recipe(tiny(steps=6, every=100))
        self.sweep(recipe, "schedule={type: linear, warmup: 1 steps},{type: constant}", "-q")
        self.assertEqual(
            [r["values"]["schedule"] for r in self.numbers()],
            ["{type: linear, warmup: 1 steps}", "{type: constant}"],
        )
        rates = [self.metrics(r["name"])[-1]["lr"] for r in self.numbers()]
        self.assertNotEqual(*rates)


if __name__ == "__main__":
    main()
