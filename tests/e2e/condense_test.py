"""bench/condense: what it keeps of measured rows for tests/data/measured."""
import json
import subprocess
import sys

from support import ROOT, Trainx, main, read_measured

PRODUCTS = {
    "m 8 n 8 k 8 f32": {"count": 1, "ms": 0.5},
    "m 8 n 8 k 8 B^T tf32": {"count": 2, "ms": 0.25},
    "m 8 n 8 k 8 bf16 to f32": {"count": 3, "ms": 0.125},
    "m 8 n 8 k 8 f16": {"count": 4, "ms": 0.5},
}
DONE = {"tool": "trainx", "machine": "NVIDIA H200", "commit": "abc", "peak_memory_bytes": 5,
        "device_memory_bytes": 6, "step_time_ms": 1.5, "kernels": {"a": 2, "b": 3},
        "work_ms": {"norm": 1.0}, "matrix_products": PRODUCTS, "rounds": [1, 2]}


class Condense(Trainx):
    def condense(self, *args, expect=0):
        command = [sys.executable, ROOT / "bench" / "condense", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout if expect == 0 else done.stderr

    def lines(self, *args):
        return [json.loads(line) for line in self.condense(*args).splitlines()]

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value, indent=1))

    def row(self, name):
        ours = {"command": ["trainx", "bench"], "done": DONE, "step_time_ms": 2.5,
                "device_memory_bytes": 7, "planned": {"parameters": 9.0, "memory": []}}
        peer = {**ours, "done": {"tool": "torch", "peak_memory_bytes": 5}}
        same = {**ours, "done": {}, "same_as": "trainx"}
        return {"name": name, "measured": "2026-11-21", "unit": "tokens",
                "contestants": {"trainx": ours, "trainx as fitted": same, "torch": peer}}

    def test_steps_are_a_line_for_each_run_of_trainx(self):
        self.write("rows/two.json", self.row("two"))
        self.write("rows/one.json", self.row("one"))
        one, two = self.lines("steps", "rows")
        self.assertEqual(one, {
            "row": "one", "contestant": "trainx", "gpu": "NVIDIA H200", "commit": "abc",
            "measured": "2026-11-21", "command": ["trainx", "bench"], "parameters": 9.0,
            "step_time_ms": 2.5, "peak_memory_bytes": 5, "device_memory_bytes": 7,
            "kernel_launches": 5, "work_ms": {"norm": 1.0},
            "matrix_products": dict(list(PRODUCTS.items())[:2])})
        self.assertEqual(two, {**one, "row": "two"})
        self.assertEqual(self.lines("steps", "rows/two.json"), [two])

    def test_a_report_of_bench_step_is_named_by_its_file(self):
        self.write("rows/alone.json", DONE)
        (alone,) = self.lines("steps", "rows")
        got = [alone[key] for key in ("row", "step_time_ms", "device_memory_bytes", "command")]
        self.assertEqual(got, ["alone", 1.5, 6, None])

    def test_products_keep_the_chosen_time(self):
        tuned = {"algorithm": [1, 2], "candidates": 3, "chosen_ms": 0.25, "heuristic_ms": 0.5}
        self.write("gemm.json", {"a GPU": {"m 1": tuned, "m 2": tuned}, "another": {"m 3": tuned}})
        text = self.condense("products", "gemm.json")
        self.assertEqual(text.count("\n"), 9, "one line for each product")
        kept = {"chosen_ms": 0.25}
        self.assertEqual(json.loads(text),
                         {"a GPU": {"m 1": kept, "m 2": kept}, "another": {"m 3": kept}})

    def test_goals_are_a_line_for_each_row(self):
        row = {"name": "vanilla", "machine": {"gpu": "NVIDIA H200", "cores": 2},
               "measured": "today", "goal_bytes": 5.0, "meets_memory": False, "ratio": 2}
        self.write("guides.json", {"rows": [row, {**row, "name": "1x4"}]})
        vanilla, other = self.lines("goals", "guides.json")
        self.assertEqual(vanilla, {"row": "vanilla", "gpu": "NVIDIA H200", "measured": "today",
                                   "goal_bytes": 5.0, "meets_memory": False})
        self.assertEqual(other, {**vanilla, "row": "1x4"})

    def test_recorded_files_have_the_fields_that_it_keeps(self):
        self.write("rows/one.json", self.row("one"))
        self.write("guides.json", {"rows": [{"name": "a", "machine": {"gpu": "b"}, "measured": "c",
                                             "goal_bytes": 1.0, "meets_memory": True}]})
        (step,), (goal,) = self.lines("steps", "rows"), self.lines("goals", "guides.json")
        for path in ("h100/steps.jsonl", "h200/steps.jsonl", "h200/guides/steps.jsonl"):
            for row in read_measured(path):
                self.assertEqual(list(row), list(step), path)
        for row in read_measured("h200/guides/goals.jsonl"):
            self.assertEqual(list(row), list(goal))

    def test_files_of_another_form_are_refused(self):
        self.write("rows/list.json", [1])
        text = {"name": "text", "contestants": {"trainx": {"done": {"work_ms": 1}}}}
        self.write("rows/text.json", text)
        self.folder.joinpath("none").mkdir()
        for kind in ("steps", "products", "goals"):
            for path in ("rows/list.json", "rows/text.json", "rows/missing.json"):
                self.assertIn(path, self.condense(kind, path, expect=65))
        self.assertIn("none", self.condense("steps", "none", expect=65))
        self.condense("goals", "rows/list.json", "rows/text.json", expect=2)


if __name__ == "__main__":
    main()
