"""bench/parity: its arithmetic, and a small study that is stopped and resumed."""
import json
import math
import os
import subprocess
import sys

from support import ROOT, TRAINX, Trainx, main, read_measured

sys.dont_write_bytecode = True
sys.path += [str(ROOT / "bench" / "driver")]
import parity  # noqa: E402

SMALL = [
    "model.options.num_layers=1",
    "model.options.hidden_size=32",
    "model.options.num_heads=2",
    "model.options.max_positions=32",
    "data.sequence_length=32",
    "run.duration=4 steps",
    "schedule.warmup=0 steps",
    "eval.every=2 steps",
    "eval.batches=1",
    "metrics.every=1 steps",
    "checkpoint.every=2 steps",
]


def result(baseline, other, step_ms=(10, 5)):
    """Of two arms, each a list of curves by seed."""
    arms = {}
    for name, curves, ms in (("bf16", baseline, step_ms[0]), ("fp8", other, step_ms[1])):
        by_seed = {
            str(seed + 1): [list(point)
                            for point in curve]
            for seed, curve in enumerate(curves)
        }
        arms[name] = {"settings": [], "tokens": 1, "curves": by_seed, "step_ms": ms}
    return {"arms": arms}


class Arithmetic(Trainx):
    def test_standard_error_and_slope(self):
        self.assertAlmostEqual(parity.standard_error([1, 2, 3]), 1 / math.sqrt(3))
        self.assertEqual(parity.standard_error([1]), math.inf)
        self.assertAlmostEqual(parity.slope([[0, 1], [10, 3], [20, 5]]), 0.2)
        self.assertAlmostEqual(parity.slope([[0, 0], [1, 1], [2, 0]]), 0)
        self.assertEqual(parity.last_half([[10, 0], [20, 0], [30, 0], [40, 0]]),
                         [[20, 0], [30, 0], [40, 0]])

    def test_steps_to_a_loss_lie_on_the_line_between_evaluations(self):
        curve = [[10, 4.0], [20, 3.0], [30, 3.5], [40, 2.0]]
        self.assertEqual(parity.steps_to(curve, 5), 10)
        self.assertEqual(parity.steps_to(curve, 3.25), 17.5)
        self.assertEqual(parity.steps_to(curve, 2.0), 40)
        self.assertIsNone(parity.steps_to(curve, 1.9))

    def test_bounds(self):
        baseline = [[[10, 4.0], [20, 3.0]], [[10, 4.1], [20,
                                                         3.1]]]  # standard error of the last: 0.05

        def row(*gaps):
            """Of an arm whose curves lie above the baseline's by these, at both steps."""
            other = [[[step, loss + gap[k]]
                      for k, (step, loss) in enumerate(curve)]
                     for curve, gap in zip(baseline, gaps, strict=True)]
            return parity.compare(result(baseline, other))[1]
        near = row((0.004, 0.003), (0.006, 0.005))
        self.assertAlmostEqual(near["gap"], 0.004)
        self.assertAlmostEqual(near["gap_share"], 0.004 / 3.05)
        self.assertAlmostEqual(near["slope"], -0.1)      # per 1,000 steps
        self.assertTrue(near["within"])
        self.assertEqual(
            row((0.01, 0.01), (0.01, 0.01))["bounds"],
            {"below the standard error": True, "below 0.25 %": False, "slope not above zero": True})
        self.assertEqual(
            row((0.004, 0.06), (0.004, 0.05))["bounds"], {
                "below the standard error": False, "below 0.25 %": False,
                "slope not above zero": False
            })
        self.assertFalse(row((0.001, 0.002), (0.001, 0.002))["within"])  # it widens
        self.assertTrue(row((-0.01, -0.02), (-0.01, -0.02))["within"])   # it is better

    def test_one_seed_proves_nothing(self):
        rows = parity.compare(result([[[10, 4.0], [20, 3.0]]], [[[10, 4.0], [20, 3.0]]]))
        self.assertFalse(rows[1]["within"])
        self.assertIn("too few seeds", parity.markdown(rows))

    def test_seeds_that_an_arm_lacks_do_not_count(self):
        curve = [[10, 4.0], [20, 3.0]]
        rows = parity.compare(result([curve, curve, [[10, 9.0], [20, 9.0]]], [curve, curve]))
        self.assertEqual([row["seeds"] for row in rows], [3, 2])
        self.assertEqual(rows[1]["gap"], 0)
        self.assertEqual(len(parity.compare(result([curve], []))), 1)
        self.assertEqual(parity.compare(result([], [curve])), [])

    def test_time_to_equal_loss_is_steps_times_their_time(self):
        slow, fast = [[10, 4.0], [20, 3.0]], [[10, 3.5], [20, 2.5]]
        rows = parity.compare(result([slow, slow], [fast, fast]))
        self.assertEqual(rows[1]["steps_to_equal_loss"], [20, 15])
        self.assertEqual(rows[1]["seconds_to_equal_loss"], [0.2, 0.075])

    def test_recorded_studies_have_the_table_that_is_told_of_them(self):
        for path in ("cpu/parity.json", "h200/parity.json"):
            rows = parity.compare(read_measured(path))
            self.assertGreater(len(rows), 1, path)
            self.assertGreaterEqual(rows[0]["seeds"], 5, path)
            self.assertGreaterEqual(rows[1]["seeds"], 5, path)


ARMS = ["--arm", "bf16", "precision=bf16", "--arm", "fp8", "precision=fp8"]


class Study(Trainx):
    def has_gpus(self, count):
        """A stand-in of nvidia-smi that lists so many."""
        folder = self.folder / "programs"
        folder.mkdir(exist_ok=True)
        (folder / "nvidia-smi").write_text("#!/bin/sh\n" + "echo NVIDIA H200\n" * count)
        (folder / "nvidia-smi").chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def parity(self, *args, expect=0):
        command = [sys.executable, ROOT / "bench" / "parity", *map(str, args)]
        env = self.environment(PATH=getattr(self, "path", os.environ["PATH"]))
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=env,
                              timeout=600)
        if expect is not None:
            self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def study(self, *more, expect=0):
        arms = [
            "--arm", "bf16", "precision=bf16", "--arm", "again", "precision=bf16", "--arm", "fp8",
            "precision=fp8"
        ]
        return self.parity("run", "--trainx", TRAINX, "--out", "out", "--seeds", 2, *arms, *more,
                           "--set", *SMALL, expect=expect)

    def table(self, *args):
        return self.parity("table", *args, expect=None).stdout

    def test_a_study_is_resumed_and_its_table_says_what_runs_logged(self):
        self.study("--limit", 0.001, expect=75)
        self.assertNotIn("|", self.parity("table", "out", expect=1).stdout)
        self.study("--only", "again", "fp8")
        self.assertNotIn("|", self.table("out"))
        self.study()
        table = self.table("out", "--json", "kept.json")
        self.assertIn("| again | 2 |", table)
        self.assertEqual(self.table("kept.json"), table)
        text = (self.folder / "kept.json").read_text()
        self.assertEqual(text.count('": [['), 6, "a line for each curve")
        kept = json.loads(text)
        self.assertEqual(list(kept["arms"]), ["bf16", "again", "fp8"])
        run = json.loads((self.folder / "out" / "runs" / "bf16-seed-1" / "run.json").read_text())
        self.assertEqual(kept["commits"], [run["commit"]])
        for arm, recorded in kept["arms"].items():
            for seed, curve in recorded["curves"].items():
                log = self.folder / "out" / "runs" / f"{arm}-seed-{seed}" / "metrics.jsonl"
                lines = [json.loads(line) for line in log.read_text().splitlines()]
                self.assertEqual(
                    curve,
                    [[line["step"], line["eval_loss"]] for line in lines if "eval_loss" in line])
                self.assertEqual([step for step, _ in curve], [2, 4])
        # the same weights, data and order in each arm of a seed, others in another
        bf16, again, fp8 = (kept["arms"][arm]["curves"] for arm in ("bf16", "again", "fp8"))
        self.assertEqual(bf16, again)
        self.assertNotEqual(bf16, fp8)
        self.assertNotEqual(bf16["1"], bf16["2"])
        self.study()  # nothing is left to do
        self.assertEqual(self.table("out"), table)
        self.assertIn("other settings",
                      self.study("--arm", "more", "precision=bf16", expect=2).stderr)

    def test_runs_side_by_side_have_a_gpu_each_and_the_losses_of_runs_in_turn(self):
        text = self.folder / "text"
        for folder in ("a", "tests"):
            (text / folder).mkdir(parents=True)
            for number in range(20):
                words = " + ".join(f"{folder}_{self.random.randrange(99)}" for _ in range(60))
                (text / folder / f"{number}.py").write_text(f"x = {words}\n" * 9)
        spy = self.folder / "spy"
        spy.write_text(f"""#!/bin/sh
[ "$1" = train ] && echo "gpu ${{CUDA_VISIBLE_DEVICES-none}}" >> "{self.folder}/gpus"
exec "{TRAINX}" "$@"
""")
        spy.chmod(0o755)
        self.has_gpus(2)
        tables = []
        for out, gpus in (("in_turn", 0), ("beside", 2)):
            self.parity("run", "--trainx", spy, "--out", out, "--seeds", 2, "--gpus", gpus,
                        "--text", text, "--vocabulary", 300, *ARMS, "--set", *SMALL)
            tables.append(self.table(out, "--json", f"{out}.json"))
            self.assertNotIn("tests_", (self.folder / out / "data" / "train.jsonl").read_text())
        kept = [json.loads((self.folder / name).read_text())
                for name in ("in_turn.json", "beside.json")]
        curves = [{name: arm["curves"] for name, arm in study["arms"].items()} for study in kept]
        self.assertEqual(*curves)
        self.assertEqual([len(arm) for arm in curves[0].values()], [2, 2])
        said = (self.folder / "gpus").read_text().split("\n")
        outer = self.environment().get("CUDA_VISIBLE_DEVICES", "none")
        self.assertEqual(set(said[:4]), {f"gpu {outer}"})
        self.assertEqual(set(said[4:8]), {"gpu 0", "gpu 1"})
        other = self.parity("run", "--trainx", spy, "--out", "beside", "--seeds", 2, "--text", text,
                            "--vocabulary", 301, *ARMS, "--set", *SMALL, expect=2)
        self.assertIn("other settings", other.stderr)

    def test_gpus_and_text_that_are_not_there_are_refused(self):
        self.has_gpus(1)
        lacking = self.parity("run", "--trainx", TRAINX, "--out", "out", "--gpus", 2, expect=2)
        self.assertIn("--gpus 2", lacking.stderr)
        empty = self.parity("run", "--trainx", TRAINX, "--out", "out", "--text", "nowhere",
                            expect=2)
        self.assertIn("nowhere", empty.stderr)
        self.assertNotIn("Traceback", empty.stderr)

    def test_a_run_that_fails_is_named(self):
        done = self.parity("run", "--trainx", TRAINX, "--out", "out", "--arm", "bad",
                           "precision=fp7", expect=69)
        self.assertIn("bad-seed-1", done.stderr)

    def test_a_run_beside_one_that_fails_is_finished(self):
        self.has_gpus(2)
        done = self.parity("run", "--trainx", TRAINX, "--out", "out", "--gpus", 2, "--seeds", 1,
                           "--arm", "bad", "precision=fp7", "--arm", "good", "precision=bf16",
                           "--set", *SMALL, expect=69)
        self.assertIn("bad-seed-1", done.stderr)
        self.assertIn("good-seed-1", done.stdout)


if __name__ == "__main__":
    main()
