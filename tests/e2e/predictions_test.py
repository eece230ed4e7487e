"""What `trainx plan` predicts of combinations of methods that were measured on a GPU by
bench/predictions."""
import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import statistics
import tempfile
import unittest
import unittest.mock

import forked
from support import MANY_COMMANDS, MEASURED, ROOT, TRAINX, main, read_measured

RECORDED = "h200/predictions.json"
TABLE = ROOT / "bench" / "results" / "h200" / "predictions.md"


def bench_predictions():
    loader = importlib.machinery.SourceFileLoader("bench_predictions",
                                                  str(ROOT / "bench" / "predictions"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def plan_as_fork(words, **_):
    """For subprocess.run of a plan: there are many."""
    return forked.run(MANY_COMMANDS, words[1:], ROOT, dict(os.environ))


class Predictions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = bench_predictions()
        cls.recorded = read_measured(RECORDED)["rows"]
        with tempfile.TemporaryDirectory() as folder:
            out, table = pathlib.Path(folder) / "again.json", pathlib.Path(folder) / "again.md"
            out.write_bytes((MEASURED / RECORDED).read_bytes())
            command = [
                "predictions", "--trainx", TRAINX, "--out",
                str(out), "--markdown",
                str(table)
            ]
            with unittest.mock.patch("sys.argv", [*command, "--again"]), unittest.mock.patch.object(
                    cls.bench.subprocess, "run", plan_as_fork):
                cls.bench.main()
            cls.again, cls.table = out.read_text(), table.read_text()
        cls.rows = json.loads(cls.again)["rows"]

    def test_all_that_was_measured_is_predicted(self):
        # those of 8-bit AdamW were of an older kernel, and wait for a GPU
        self.assertEqual(len(self.rows), 57)
        self.assertEqual([row["settings"] for row in self.rows],
                         [row["settings"] for row in self.recorded])
        for row in self.rows:
            for predicted, measured in (row["step_time_ms"], row["memory_bytes"]):
                self.assertTrue(math.isfinite(predicted) and predicted > 0 and measured > 0, row)

    def test_memory_within_3_percent(self):
        for row, error in zip(self.rows, self.bench.errors(self.rows, "memory_bytes")):
            self.assertLess(abs(error), self.bench.MEMORY_BOUND, row)

    def test_time_within_15_percent_of_nearly_all(self):
        """What was reached, and is not to be lost: all but lamb launched kernel by kernel, whose
        kernels were not measured by themselves."""
        errors = self.bench.errors(self.rows, "step_time_ms")
        print(
            f"  {sum(abs(e) <= self.bench.TIME_BOUND for e in errors)} of {len(errors)} within {self.bench.TIME_BOUND:.0%}, mean {statistics.mean(map(abs, errors)):.1%}, "
            f"from {min(errors):+.1%} to {max(errors):+.1%}")
        beyond = [(error, row["settings"])
                  for row, error in zip(self.rows, errors)
                  if not abs(error) <= self.bench.TIME_BOUND]
        self.assertLessEqual(len(beyond), 1, beyond)
        self.assertLess(max(map(abs, errors)), 0.2)
        self.assertLess(statistics.mean(map(abs, errors)), 0.05)
        self.assertLess(abs(statistics.mean(errors)),
                        0.03)  # neither too short nor too long on the whole

    def test_what_is_recorded_is_what_is_predicted_now(self):
        """If not: bench/predictions --again, as tests/data/measured/README.md has it."""
        for now, then in zip(self.rows, self.recorded):
            for key in ("step_time_ms", "memory_bytes"):
                self.assertAlmostEqual(now[key][0] / then[key][0], 1, delta=1e-3,
                                       msg=f"{key} {now['settings']}")
        again = "predicted" in read_measured(RECORDED)
        self.assertEqual(TABLE.read_text(), self.bench.distribution(self.recorded, again=again))

    def test_predicting_again_writes_files_as_they_are_recorded(self):
        lines = [len(text.splitlines()) for text in (self.again, (MEASURED / RECORDED).read_text())]
        self.assertEqual(*lines)
        self.assertEqual(self.table, self.bench.distribution(self.rows, again=True))


if __name__ == "__main__":
    main()
