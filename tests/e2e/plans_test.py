"""What `trainx plan` predicts of recorded steps of several GPUs, and of speeds that others published."""
import math
import statistics
import unittest
import unittest.mock

import loaded_scripts
from support import ROOT, TRAINX, main, read_measured

RANKS, PUBLISHED = "ranks.jsonl", ROOT / "tests" / "data" / "published" / "rows.jsonl"
PAGES = {"ranks": ROOT / "bench" / "results" / "ranks.md",
         "published": ROOT / "bench" / "results" / "published.md"}


class Plans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = loaded_scripts.script("bench", "plans")
        # one after the other: forks share a pipe
        with unittest.mock.patch.object(cls.bench.subprocess, "run",
                                        loaded_scripts.plan_as_fork), \
                unittest.mock.patch.object(cls.bench.os, "cpu_count", lambda: 1):
            cls.ranks = cls.bench.predict_ranks(TRAINX)
            cls.published = cls.bench.predict_published(TRAINX)

    def test_each_recorded_row_is_predicted_within_its_bound(self):
        self.assertEqual(len(self.ranks), len(read_measured(RANKS)))
        self.assertGreater(len(self.ranks), 30)
        for row in self.ranks:
            error = self.bench.error_of(row)
            self.assertTrue(math.isfinite(error), row)
            self.assertLessEqual(abs(error), self.bench.bound_of(row), row)

    def test_modes_are_predicted_in_the_order_that_was_recorded(self):
        order = list(self.bench.pairs_in_order(self.ranks))
        self.assertGreater(len(order), 10)
        for faster, slower, right in order:
            self.assertTrue(right, (faster, slower))

    def test_auto_takes_no_mode_that_was_recorded_slower_than_ddp(self):
        by_row = {}
        for row in self.ranks:
            if row["gpus"] > 1 and "older" not in row:
                by_row.setdefault((row["page"], row["row"]), {})[self.bench.mode_of(row)] = row
        compared = [modes for modes in by_row.values() if len(modes) > 1]
        self.assertGreater(len(compared), 2)
        for modes in compared:
            row = modes["ddp"]
            with unittest.mock.patch.object(self.bench.subprocess, "run",
                                            loaded_scripts.plan_as_fork):
                chosen = self.bench.planned(
                    self.bench.command_of_ranks(TRAINX, row, "auto"))["mode"]
            print(f"  {row['row']}: {chosen}")
            self.assertLessEqual(modes[chosen]["step_time_ms"],
                                 (1 + self.bench.APART) * modes["ddp"]["step_time_ms"], row["row"])
            self.assertLessEqual(modes[chosen]["step_time_ms"], 1.06 *
                                 min(r["step_time_ms"] for r in modes.values()), row["row"])

    def test_published_rows_that_count_are_predicted(self):
        counted = self.bench.counted(self.published)
        self.assertEqual(len(counted), sum(r["counts"] for r in self.published))
        for some in (counted, self.bench.counted(self.published, fitted=False)):
            errors = [abs(self.bench.ratio_of(r) - 1) for r in some]
            self.assertLess(statistics.median(errors), self.bench.MEDIAN)
            self.assertLess(max(errors), self.bench.LARGEST)

    def test_estimates_state_errors_that_hold(self):
        """Generation::published_error of lib/hardware."""
        stated = [r for r in self.bench.counted(self.published) if r["stated_error"] is not None]
        self.assertGreater(len(stated), 40)
        for row in stated:
            self.assertLessEqual(abs(self.bench.ratio_of(row) - 1), row["stated_error"], row)

    def test_rows_that_do_not_count_say_why(self):
        for row in self.published:
            self.assertNotEqual(row["counts"], "reason" in row, row)
        self.assertLess(sum(r["fitted"] for r in self.published), len(self.published) / 10)

    def test_pages_hold_what_is_predicted_now(self):
        """If not: bench/plans KIND --trainx build/bin/trainx --markdown bench/results/KIND.md."""
        for kind, rows in (("ranks", self.ranks), ("published", self.published)):
            _, table, _ = self.bench.KINDS[kind]
            self.assertEqual(PAGES[kind].read_text(), table(rows))


class Order(unittest.TestCase):
    def test_modes_that_differ_by_less_than_their_rounds_have_no_order(self):
        bench = loaded_scripts.script("bench", "plans")

        def row(mode, recorded, predicted, spread=0.0):
            return {"page": "a", "row": "b", "gpus": 2, "settings": [f"parallel.mode={mode}"],
                    "step_time_ms": recorded, "predicted_ms": predicted, "spread": spread}

        near = [row("ddp", 100, 90), row("zero1", 101, 80)]
        self.assertEqual(list(bench.pairs_in_order(near)), [])
        wide = [row("ddp", 100, 90, 0.05), row("zero1", 104, 80)]
        self.assertEqual(list(bench.pairs_in_order(wide)), [])
        apart = [row("ddp", 100, 90), row("zero1", 104, 80)]
        self.assertEqual([right for *_, right in bench.pairs_in_order(apart)], [False])
        self.assertEqual([right for *_, right in bench.pairs_in_order(
            [row("ddp", 100, 90), row("zero1", 104, 95)])], [True])


if __name__ == "__main__":
    main()
