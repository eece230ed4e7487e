"""`trainx bench guides`: its rows, what is loaded ahead, what is run but once, its table; and the
rows themselves on a CPU, with a tiny model."""
import json
import os
import subprocess
import sys
import unittest
import venv
import xml.etree.ElementTree

from contestants import Driven
from support import ROOT, Trainx, main, read_measured, slow

sys.dont_write_bytecode = True
sys.path += [str(ROOT / "bench" / "driver")]
import guides  # noqa: E402

GIB = 2**30
PLANS = '''if [ "$1" = plan ]; then
  case "$*" in *micro_batch_size=auto*) micro={fitted} ;; *) micro=1 ;; esac
  echo "{{\\"micro_batch_size\\": $micro, \\"grad_accum_steps\\": $((4 / micro)), \\"program\\": \\"p\\", \\"parameters\\": 1000, \\"choices\\": [\\"batch.micro_batch_size $micro\\", \\"memory.activation_checkpoint selective: it fits\\"], \\"memory\\": [{{\\"category\\": \\"weights\\", \\"bytes\\": 4000}}, {{\\"category\\": \\"activations\\", \\"bytes\\": 7}}, {{\\"category\\": \\"optimizer state\\", \\"bytes\\": 8000}}]}}"
  exit
fi
'''


class Guides(Driven):
    """The driver's side, with contestants that only pretend."""

    def guide(self, name="1x4", peer="step=0.03", **more):
        row = {
            **self.row(name, Trainer=peer), "micro_batch": 1, "against": "Trainer", "variants": {
                "trainx as fitted": ["batch.micro_batch_size=auto"]
            }, "loaded_ahead": ["Trainer"], "goal": None, "goal_ratio": 1.5,
            "goal_memory": {"share": 0.7, "floor": 1.1}, "table": "methods", "methods": {
                "precision": "fp32", "optimizer": "adamw", "micro_batch": 1, "checkpointing": False,
                "tiny": False
            }
        }
        return {**row, **more}

    def plans(self, fitted):
        """Ours also answers `plan`, and fits this micro-batch."""
        program = self.folder / "ours"
        first, rest = program.read_text().split("\n", 1)
        program.write_text(first + "\n" + PLANS.format(fitted=fitted) + rest)

    def measured(self, rows, *args, expect=0):
        out = self.folder / "report"
        out.mkdir(exist_ok=True)
        done = self.drive("run", "--suite", "guides", "--rounds", 3, "--report", out, *args,
                          rows=rows, expect=expect)
        return done, json.loads((out / "guides.json").read_text())["rows"], out

    def test_as_asked_as_fitted_and_the_peer_take_turns(self):
        self.plans(fitted=4)
        done, (row,), out = self.measured([self.guide()])
        names = ["trainx", "trainx as fitted", "Trainer"]
        self.assertEqual([name for name, _ in self.answer("1x4")["sequence"]], names * 3)
        self.assertEqual(row["fitted"], "1 x 4, recomputing selective")
        self.assertEqual(row["states_bytes"], 4000 + 8000 + 4 * 1000)
        self.assertAlmostEqual(row["ratio"], 3, delta=0.3)
        self.assertTrue(row["meets_ratio"])
        self.assertEqual(row["goal_bytes"], 0.7 * GIB, "more than 1.1 of the states")
        self.assertFalse(row["meets_memory"], "both took a GiB")
        commands = {name: c["command"] for name, c in self.answer("1x4")["contestants"].items()}
        self.assertIn("batch.micro_batch_size=1", commands["trainx"])
        self.assertIn("batch.micro_batch_size=auto", commands["trainx as fitted"])
        self.assertNotIn("batch.micro_batch_size=1", commands["trainx as fitted"])
        self.assertIn(">= 1.5, met", done.stdout)
        self.assertIn("<= 0.70, **missed**", done.stdout)
        bars = [
            b.get("class") for b in xml.etree.ElementTree.parse(
                out / "guides.svg").getroot().findall(".//{http://www.w3.org/2000/svg}rect")
        ]
        self.assertEqual(bars.count("fitted"), 3, "legend, speed, memory")

    def test_a_row_that_takes_more_memory_than_its_goal_runs_within_it_too(self):
        self.plans(fitted=4)
        variants = {
            "trainx as fitted": ["batch.micro_batch_size=auto"],
            "trainx within the goal": ["batch.micro_batch_size=auto", "memory.budget=1 GiB"]
        }
        _, (row, ), out = self.measured(
            [self.guide(variants=variants, goal_memory={"share": 1.5, "floor": 1.1})])
        self.assertEqual(row["peak_bytes"]["within_goal"], GIB)
        self.assertTrue(row["within_meets_memory"])
        self.assertGreater(row["within_ratio"], 1)
        head = [
            line for line in (out / "guides.md").read_text().splitlines()
            if line.startswith("| within")
        ]
        self.assertEqual(len(head), 1)
        self.check_sentence("bench.guides.within_goal", head[0])
        for name, within in (("vanilla", True),
                             ("bf16", False)):  # what reaches its goal as asked is not run again
            self.assertEqual(
                guides.WITHIN in next(r for r in guides.rows() if r["name"] == name)["variants"],
                within)
        recorded = {r["row"]: r for r in read_measured("h200/guides/goals.jsonl")}
        for name, mib in guides.GOALS.items():
            self.assertAlmostEqual(mib * 2**20 / recorded[name]["goal_bytes"], 1, delta=0.005,
                                   msg=name)
        for name, r in recorded.items():
            self.assertEqual(name in guides.GOALS, r["meets_memory"] is False, name)

    def test_what_comes_to_the_same_run_is_run_once(self):
        self.plans(fitted=1)
        _, (row,), _ = self.measured([self.guide()])
        self.assertEqual([name for name, _ in self.answer("1x4")["sequence"]],
                         ["trainx", "Trainer"] * 3)
        self.assertEqual(row["fitted"], "as asked")
        self.assertEqual(row["samples_per_second"]["as_fitted"],
                         row["samples_per_second"]["as_asked"])
        self.assertEqual(row["fitted_ratio"], row["ratio"])

    def test_peers_are_loaded_ahead_of_their_rows(self):
        self.plans(fitted=1)
        self.measured([self.guide("one"),
                       self.guide("two"),
                       self.guide("three", peer="broken=1")], "--ahead", 3, expect=69)
        turns = self.turns()
        self.assertLess(max(i for i, t in enumerate(turns) if t == "start Trainer"),
                        turns.index("start trainx"), "all before the first row")
        self.assertEqual(turns.count("begin Trainer"), 2)
        self.assertLess(turns.index("start trainx"), turns.index("begin Trainer"))
        self.assertIn("exited with 3 before `loaded`",
                      self.answer("three")["contestants"]["Trainer"]["failure"]["why"])
        self.assertGreater(self.answer("three")["contestants"]["trainx"]["samples_per_second"], 0)

    def test_rows_without_peers_are_measured_again_with_them(self):
        self.plans(fitted=1)
        done, (row,), _ = self.measured([self.guide()], "--without", "Trainer")
        self.assertIsNone(row["ratio"])
        self.assertNotIn("start Trainer", self.turns())
        self.assertIn("| - |", done.stdout)
        _, (row,), _ = self.measured([self.guide()])
        self.assertGreater(row["ratio"], 1)
        done, _, _ = self.measured([self.guide()], "--without", "Trainer")
        self.assertIn("measured already", done.stderr)

    def test_why_a_row_failed_stands_in_the_table(self):
        program = self.folder / "ours"
        program.write_text(
            "#!/bin/sh\necho 'trainx: precision.compute: no such thing' >&2\nexit 78\n")
        done, (row,), _ = self.measured([self.guide(name="1x4", title="fp16")], expect=69)
        self.assertEqual(row["failures"]["trainx"],
                         "precision.compute: no such thing (exit code 78)")
        self.assertGreater(row["samples_per_second"]["peer"], 0)
        self.assertIn("fp16, trainx: precision.compute: no such thing (exit code 78).", done.stdout)

    def test_memory_of_pairs(self):
        self.plans(fitted=1)
        methods = self.guide()["methods"]
        rows = [
            self.guide(f"pairs-4-{p}", peer=f"step=0.03 peak={peak}", table="pairs",
                       methods={**methods, "precision": p})
            for p, peak in (("fp32", 3 * GIB), ("fp16", 2 * GIB))
        ]
        done, _, _ = self.measured(rows)
        self.assertIn("| 4 | 1024 | 1024 | 0 | 3072 | 2048 | 1024 |", done.stdout)


class Command(Trainx):
    """trainx itself, on a CPU."""
    forks = True

    def figures(self):
        return {
            row["name"]: row
            for row in json.loads((self.folder / "out" / "guides.json").read_text())["rows"]
        }

    def test_refusals_are_a_sentence(self):
        for args, code, name in (((), 69, "--tiny"), (("--tiny", "--rounds", "0"), 2, "--rounds"),
                                 (("--tiny", "--python", "/nowhere"), 69,
                                  "/nowhere"), (("--tiny", "nonsense"), 2, "'nonsense'"),
                                 (("--tiny", "--out", "/proc/none"), 73, "/proc/none")):
            done = self.run_trainx("bench", "guides", *args, expect=code)
            self.assertIn(name, done.stderr)
            self.check_sentence("bench.guides/" + " ".join(args), done.stderr.splitlines()[-1])
        bare = self.folder / "venv"
        venv.create(bare)
        done = self.run_trainx("bench", "guides", "--tiny", "--peers", "--python",
                               bare / "bin" / "python", expect=69,
                               env=self.environment(PYTHONPATH=""))
        self.assertRegex(done.stderr, r"\btorch\b.*\btransformers\b.*\baccelerate\b")

    def test_every_row_is_legal(self):
        recipe = ROOT / "configs" / "bench" / "guides.yaml"
        has_fp16 = self.run_trainx("plan", recipe, "precision.compute=fp16", "--gpu", "h200",
                                   expect=None).returncode == 0
        rows = guides.rows()
        self.assertEqual(len({row["name"] for row in rows}), 26)
        for row in rows:
            cut = [
                f"batch.global_batch_size={row['batch']}",
                f"batch.micro_batch_size={row['micro_batch']}"
            ]
            for settings in ([*row["overrides"], *cut], [cut[0], *row["variants"][guides.FITTED]]):
                if has_fp16 or "precision.compute=fp16" not in settings:
                    self.run_trainx("plan", recipe, *settings, "--gpu", "h200")

    def test_rows_on_a_cpu(self):
        rows = ("vanilla", "1x4-checkpointing", "all-8bit-bf16", "all-adafactor-bf16", "tf32",
                "pairs-8-fp32")
        done = self.run_trainx("bench", "guides", *rows, "--tiny", "--rounds", "1", "--seconds",
                               "0.05", "--out", "out", expect=69)
        figures = self.figures()
        self.assertIn("which only a GPU computes in", figures["tf32"]["failures"]["trainx"])
        for name in set(rows) - {"tf32"}:
            self.assertEqual(figures[name]["failures"], {}, name)
            self.assertGreater(figures[name]["samples_per_second"]["as_asked"], 0, name)
            self.assertGreater(figures[name]["samples_per_second"]["as_fitted"], 0, name)
        self.assertEqual(figures["1x4-checkpointing"]["fitted"], "1 x 4, nothing recomputed")
        self.assertEqual(figures["vanilla"]["fitted"], "as asked")
        self.assertLess(figures["all-adafactor-bf16"]["states_bytes"],
                        figures["all-8bit-bf16"]["states_bytes"])
        self.assertIn(" nothing", done.stdout)

    @slow("test_rows_on_a_cpu; Hugging Face's Trainer takes half a minute")
    def test_the_trainer_beside_it(self):
        python = os.environ.get("TRAINX_REFERENCE_PYTHON")
        if not python or subprocess.run([python, "-c", "import accelerate"], capture_output=True,
                                        env=self.environment()).returncode != 0:
            raise unittest.SkipTest("TRAINX_REFERENCE_PYTHON names no Python with accelerate")
        self.run_trainx("bench", "guides", "all-adafactor-bf16", "pairs-8-fp32", "--tiny",
                        "--peers", "--python", python, "--rounds", "2", "--seconds", "0.1", "--out",
                        "out")
        for row in self.figures().values():
            self.assertGreater(row["ratio"], 0)
        done = json.loads((self.folder / "out" / "rows" /
                           "all-adafactor-bf16.json").read_text())["contestants"]["Trainer"]["done"]
        self.assertEqual((done["micro_batch_size"], done["accumulation"], done["samples_per_step"]),
                         (1, 4, 4))
        self.assertEqual(done["tool"], "Hugging Face Trainer bf16 checkpointing adafactor")


if __name__ == "__main__":
    main()
