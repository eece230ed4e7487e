"""bench/drive with contestants that only pretend: turns, medians, resume, failures, and what it makes of them."""
import json
import pathlib
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

import reference
from contestants import Driven
from support import BUILD, LONG, ROOT, Trainx, main, slow, tiny, write_tokens

WAITS = "for contestants that sleep"


class Bench(Driven):
    def test_contestants_take_turns_and_medians_are_told(self):
        self.drive("run", "--rounds", 5, "--set", "run.deterministic=true", rows=[self.row(plain="step=0.02", other_one="step=0.005 no_energy=1")])
        names = ["trainx", "plain", "other_one"]
        turns = self.turns()
        self.assertEqual(turns[:3], [f"start {n}" for n in names], "one after another, all before the first round")
        self.assertEqual(turns[-15:], names * 5)
        got = self.answer()
        self.assertTrue(got["complete"])
        self.assertEqual(got["sequence"][:4], [["trainx", 0], ["plain", 0], ["other one", 0], ["trainx", 1]])
        ours, plain, other = (got["contestants"][n] for n in ("trainx", "plain", "other one"))
        self.assertEqual([r["steps"] for r in ours["rounds"]], [10] * 5, "0.1 s of steps of 0.01 s")
        calibrations = len(ours["calibration"])
        times = sorted(1 + (calibrations + 1 + i - 3) ** 2 / 100 for i in range(5))
        self.assertAlmostEqual(ours["step_time_ms"], 10 * times[2])
        self.assertAlmostEqual(ours["samples_per_second"], 4 / (0.01 * times[2]))
        self.assertAlmostEqual(ours["joules_per_unit"], 7.0 / 4)
        self.assertIsNone(other["joules_per_unit"])
        self.assertAlmostEqual(got["ratios"]["plain"]["ratio"], plain["step_time_ms"] / ours["step_time_ms"])
        self.assertTrue(got["ratios"]["plain"]["lowest"] <= got["ratios"]["plain"]["ratio"] * 1.001)
        self.assertTrue(got["ratios"]["plain"]["interleaved"])
        arguments = (self.folder / "arguments").read_text()
        overrides = "batch.micro_batch_size=4 batch.global_batch_size=4 run.deterministic=true"
        self.assertEqual(arguments, f"bench step --paced {ROOT}/configs/bench/gpt2.yaml {overrides}\n")
        self.assertIn("a library says hello", (self.out / "logs" / "tiny.plain.log").read_text())

    def test_an_older_program_takes_turns_instead_of_the_peers(self):
        older = self.folder / "older"
        for program, name, step in ((self.folder / "ours", "trainx", 0.01), (older, "before", 0.0101)):
            program.write_text(  # both plan the same, and are run all the same
                "#!/bin/sh\n"
                """[ "$1" = plan ] && echo '{"program": "m0 forward"}' && exit\n"""
                f"exec {sys.executable} {self.fake} {self.folder} {name} step={step}\n"
            )
            program.chmod(0o755)
        self.drive("run", "--rounds", 3, "--before", older, rows=[self.row(plain="step=0.02")])
        got = self.answer()
        self.assertEqual(set(got["contestants"]), {"trainx", "trainx before"})
        self.assertEqual(self.turns()[-6:], ["trainx", "before"] * 3)
        self.assertAlmostEqual(got["ratios"]["trainx before"]["ratio"], 1.01)
        self.assertIsNone(got["goal"])

    def test_commands_are_recorded_as_one_types_them(self):
        self.drive("run", "--rounds", 1, rows=[{**self.row(plain="step=0.02 data={data}"), "data": "jsonl"}])
        commands = {name: c["command"] for name, c in self.answer()["contestants"].items()}
        self.assertEqual(commands["trainx"], ["ours", "bench", "step", "--paced", "configs/bench/gpt2.yaml", "batch.micro_batch_size=4", "batch.global_batch_size=4", "data.train=jsonl-8.jsonl"])
        self.assertEqual(commands["plain"], [pathlib.Path(sys.executable).name, str(self.fake), str(self.folder), "plain", "step=0.02", "data=jsonl-8.jsonl"])
        self.assertIn("/jsonl-8.jsonl\n", (self.folder / "arguments").read_text(), "what runs has the whole path")

    def test_who_fails_is_recorded_and_the_rest_goes_on(self):
        peers = {"plain": "step=0.02", "broken": "broken=1", "dying": "step=0.02 dies_in=4", "not_a_number": "step=0.02 loss=nan",
                 "else": "step=0.02 samples=5"}
        done = self.drive("run", "--rounds", 3, rows=[self.row(**peers)], expect=69)
        got = self.answer()
        self.assertTrue(got["complete"], "a failure is an answer")
        failures = {n: c["failure"] for n, c in got["contestants"].items()}
        self.assertIsNone(failures["trainx"])
        self.assertIsNone(failures["plain"])
        self.assertIn("exited with 3", failures["broken"]["why"])
        self.assertEqual(failures["broken"]["stderr"], ["one line", "no such thing"])
        self.assertIn("SIGABRT", failures["dying"]["why"])
        self.assertIn("the kernel failed", failures["dying"]["stderr"])
        self.assertIn("loss is nan", failures["not a number"]["why"])
        self.assertIn("steps are of 5 samples", failures["else"]["why"])
        self.assertEqual(list(got["ratios"]), ["plain"])
        self.assertEqual(len(got["contestants"]["trainx"]["rounds"]), 3)
        self.assertIn("failed: tiny: broken", done.stderr)

    def test_out_of_memory_beside_the_others_is_tried_alone(self):
        self.drive("run", "--rounds", 2, rows=[self.row(plain="step=0.02", large="step=0.02 memory=1")])
        got = self.answer()
        self.assertFalse(got["ratios"]["large"]["interleaved"])
        self.assertTrue(got["ratios"]["plain"]["interleaved"])
        self.assertEqual([name for name, _ in got["sequence"]], ["trainx", "plain"] * 2 + ["large"] * 2)
        self.assertIn("(alone)", self.drive("table", self.out).stdout)

    def test_resumes_and_keeps_to_its_limit(self):
        rows = [self.row(name, plain="step=0.02") for name in ("first", "second", "third")]
        rows[2]["set_up_seconds"] = 1000
        self.drive("run", "first", "--rounds", 2, rows=rows)
        before = (self.out / "first.json").read_bytes()
        done = self.drive("run", "all", "--rounds", 2, "--limit", 100, rows=rows, expect=75)
        self.assertIn("first: measured already", done.stderr)
        self.assertIn("third: ", done.stderr)
        self.assertEqual((self.out / "first.json").read_bytes(), before)
        self.assertTrue(self.answer("second")["complete"])
        self.assertFalse((self.out / "third.json").exists())
        self.drive("run", "first", "--again", "--rounds", 3, rows=rows)
        self.assertEqual(self.answer("first")["settings"]["rounds"], 3)

    def test_who_hangs_is_ended_in_time(self):
        began = time.monotonic()
        self.drive("run", "--rounds", 1, "--patience", 3, rows=[self.row(plain="step=0.02 hangs=1", slow="step=0.02 sleep=0.3")], expect=69)
        self.assertTrue(time.monotonic() - began < 60)
        got = self.answer()
        self.assertIn("waited 3 s", got["contestants"]["plain"]["failure"]["why"])
        self.assertTrue(got["ratios"]["slow"]["ratio"] > 0)
        # Cut short by the limit the row is unfinished, and the next command takes it up again.
        rows = [{**self.row("cut", plain="step=0.02 hangs=1"), "set_up_seconds": 0}]
        self.drive("run", "cut", "--rounds", 1, "--limit", 10, rows=rows, expect=75)
        got = self.answer("cut")
        self.assertFalse(got["complete"])
        self.assertTrue(got["contestants"]["plain"]["failure"]["late"])
        self.drive("run", "cut", "--rounds", 1, rows=[self.row("cut", plain="step=0.02")])
        self.assertTrue(self.answer("cut")["complete"])

    def test_table_and_plot_say_what_was_measured_and_no_more(self):
        rows = [self.row("one", plain="step=0.02 peak=2147483648", broken="broken=1"), self.row("two", unit="tokens", plain="step=0.02 no_energy=1")]
        self.drive("run", "--rounds", 5, rows=rows, expect=69)
        later = self.folder / "later"
        later.mkdir()
        newer = {**self.answer("two"), "title": "newer"}
        (later / "two.json").write_text(json.dumps(newer))
        (later / "one.json").write_text(json.dumps({**self.answer("one"), "title": "unfinished", "complete": False}))
        (later / "notes.json").write_text("[1, 2]")
        markdown, svg = self.folder / "made" / "table.md", self.folder / "made" / "plot.svg"
        self.drive("table", self.out, later, "--markdown", markdown, "--svg", svg)
        lines = [line for line in markdown.read_text().splitlines() if line.startswith("|")]
        self.assertEqual({line.count(" | ") for line in lines if "---" not in line}, {12})
        cells = [[c.strip() for c in line.strip("|").split(" | ")] for line in lines]
        ours, plain, broken = cells[2:5]
        step = self.answer("one")["contestants"]["trainx"]["step_time_ms"]
        self.assertEqual(ours[:4], ["Tiny <one>", "**trainx**", f"{4000 / step:.0f} samples", "500"])
        self.assertEqual(ours[6], f"{step:.2f} (predicted 11.00: {100 * (11 / step - 1):+.1f} %)")
        self.assertEqual(ours[7:9], ["1.0 (predicted 1.0: +0.0 %)", "<= 0.9 of plain (is 0.50)"])
        self.assertEqual(plain[4:6], [f"{self.answer('one')['ratios']['plain']['ratio']:.2f}", ">= 1.5"])
        self.assertEqual(broken[1:5] + broken[6:8] + broken[9:], ["broken", "failed", "", "-", "-", "-", "-", "-", "-", "-"])
        self.assertIn("newer", cells[5][0])
        self.assertEqual(cells[6][10], "-", "no energy was told")
        self.assertNotIn("unfinished", markdown.read_text())
        self.assertIn("commit c0ffee", markdown.read_text())
        plot = xml.etree.ElementTree.parse(svg).getroot()
        tag = "{http://www.w3.org/2000/svg}"
        bars = plot.findall(f".//{tag}rect")
        self.assertEqual([b.get("class") for b in bars], ["ours", "peer", "ours", "peer"])
        self.assertAlmostEqual(float(bars[0].get("width")) / float(bars[1].get("width")), self.answer("one")["ratios"]["plain"]["ratio"], delta=0.01)
        self.assertEqual(len(plot.findall(f".//{tag}line")), 2)
        self.assertIn("prefers-color-scheme: dark", plot.find(f"{tag}style").text)

    def test_wrong_words_are_named(self):
        rows = [self.row(plain="step=0.02")]
        self.assertIn("no row 'tinny'", self.drive("run", "tinny", rows=rows, expect=2).stderr)
        self.assertIn("'nobody'", self.drive("run", "--without", "nobody", rows=rows, expect=2).stderr)
        self.assertIn("is no folder", self.drive("table", self.folder / "nowhere", expect=2).stderr)
        self.assertIn("gpt2-124m-64x1024", self.drive("list").stdout)

    def test_the_recipes_are_valid(self):
        for row in ("gpt2", "bert", "guides", "lora"):
            self.run_trainx("validate", ROOT / "configs" / "bench" / f"{row}.yaml")


class Step(Trainx):
    """`trainx bench step` itself, on a CPU."""
    def lines(self, *args, **more):
        done = self.run_trainx("bench", "step", ROOT / "configs" / "quickstart.yaml", "run.device=cpu", *args, **more)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_rounds_of_its_own(self):
        ready, *rounds, done = self.lines("--rounds", "2", "--seconds", "0.2")
        self.assertEqual((ready["event"], [r["event"] for r in rounds], done["event"]), ("ready", ["round"] * 2, "done"))
        self.assertEqual(done["tokens_per_step"], 24 * 128)
        self.assertLess(abs(done["tokens_per_second"] * done["step_time_ms"] / 1e3 / done["tokens_per_step"] - 1), 1e-9)
        self.assertLess(done["loss"], 10)
        self.assertGreater(sum(done["work_ms"].values()), 0)
        self.assertLessEqual(done["peak_memory_bytes"], done["predicted_peak_memory_bytes"])
        self.assertFalse((self.folder / "outputs").exists())

    def test_rounds_that_are_asked_for(self):
        ready, *rounds, done = self.lines("--paced", text="go 2\ngo 5\n")
        self.assertEqual([r["steps"] for r in rounds], [2, 5])
        self.assertEqual(done["event"], "done")

    def test_ranks_wait_for_their_turn_for_as_long_as_others_take(self):
        bench = subprocess.Popen([BUILD / "bin" / "trainx", "bench", "step", "--paced", ROOT / "configs" / "quickstart.yaml", "run.device=cpu", "parallel.world_size=2", "batch.micro_batch_size=12", "run.hang_limit=2 s"],
                                 cwd=self.folder, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(json.loads(bench.stdout.readline())["event"], "ready")
        time.sleep(5)
        out, err = bench.communicate("go 2\n", timeout=120)
        self.assertEqual(bench.returncode, 0, err)
        self.assertEqual([json.loads(line)["event"] for line in out.splitlines()], ["round", "done"])

    def test_rows_of_several_ranks(self):
        done = subprocess.run([sys.executable, ROOT / "bench" / "drive", "run", "--suite", "ranks", "linear-124m-x2", "--tiny", "--trainx", BUILD / "bin" / "trainx", "--out", self.folder / "out", "--rounds", "1",
                               "--seconds-per-round", "0.1", "--caches", "kept"], env=self.environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        row = json.loads((self.folder / "out" / "linear-124m-x2.json").read_text())
        ours, one = row["contestants"]["trainx"], row["contestants"]["trainx, one GPU"]
        self.assertEqual([c["done"]["world_size"] for c in (ours, one)], [2, 1])
        self.assertEqual([c["done"]["tokens_per_step"] for c in (ours, one)], [2 * 2 * 32, 2 * 32])
        self.assertAlmostEqual(ours["tokens_per_second"], 2 * 2 * 32 / ours["step_time_ms"] * 1e3)
        self.assertAlmostEqual(row["ratios"]["trainx, one GPU"]["ratio"], one["step_time_ms"] / ours["step_time_ms"])

    @unittest.skipUnless(reference.PYTHON, "no python with torch and transformers here")
    @slow("test_rows_of_several_ranks: a row whose contestants train")
    def test_rows_of_decoders(self):
        rows = ["qwen2-0.5b-2x32", "modernbert-base-2x32", "t5-base-2x32"]
        for name in rows if LONG else [self.random.choice(rows)]:
            done = subprocess.run(
                [sys.executable, ROOT / "bench" / "drive", "run", name, "--suite", "decoders",
                 "--tiny", "--trainx", BUILD / "bin" / "trainx", "--out", self.folder / "out",
                 "--rounds", "1", "--seconds-per-round", "0.1", "--caches", "kept",
                 "--python", reference.PYTHON],
                env=self.environment(), capture_output=True, text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            row = json.loads((self.folder / "out" / f"{name}.json").read_text())
            ours = row["contestants"]["trainx"]
            peer = row["contestants"]["transformers compile"]
            tokens = [c["done"]["tokens_per_step"] for c in (ours, peer)]
            self.assertEqual(tokens[0], tokens[1], name)
            self.assertGreaterEqual(tokens[0], 2 * 32, name)        # T5's have targets beside them
            self.assertAlmostEqual(row["ratios"]["transformers compile"]["ratio"],
                                   peer["step_time_ms"] / ours["step_time_ms"])

    @unittest.skipUnless(reference.PYTHON, "no python with torch, transformers and peft here")
    @slow("test_rows_of_several_ranks: a row whose contestants train")
    def test_rows_of_adapters(self):
        rows = ["llama-8b-2x32", "llama-8b-2x32-recomputed", "llama-8b-2x32-fp8",
                "qwen3-0.6b-2x32"]  # fmt: skip
        for name in rows if LONG else [self.random.choice(rows)]:
            done = subprocess.run(
                [sys.executable, ROOT / "bench" / "drive", "run", name, "--suite", "lora",
                 "--tiny", "--trainx", BUILD / "bin" / "trainx", "--out", self.folder / "out",
                 "--rounds", "1", "--seconds-per-round", "0.1", "--caches", "kept",
                 "--python", reference.PYTHON],
                env=self.environment(), capture_output=True, text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            row = json.loads((self.folder / "out" / f"{name}.json").read_text())
            fp8 = name.endswith("-fp8")
            peers = set() if fp8 else {"peft compile"}
            self.assertEqual(set(row["contestants"]), {"trainx"} | peers)
            for contestant in row["contestants"].values():
                self.assertEqual(contestant["done"]["tokens_per_step"], 2 * 32)
                self.assertGreater(contestant["tokens_per_second"], 0)
            if not fp8:
                ours, peer = row["contestants"]["trainx"], row["contestants"]["peft compile"]
                self.assertAlmostEqual(row["ratios"]["peft compile"]["ratio"],
                                       peer["step_time_ms"] / ours["step_time_ms"])
            table = subprocess.run(
                [sys.executable, ROOT / "bench" / "drive", "table", self.folder / "out", "--suite", "lora"],
                capture_output=True, text=True, check=True).stdout  # fmt: skip
            self.assertIn("MFU: 4 FLOPs", table)

    def test_rows_fit_the_gpu_that_they_are_for(self):
        sys.path.append(str(ROOT / "bench" / "driver"))
        import fp8
        import lora
        write_tokens(self.folder / "tokens.bin", [i % 64 for i in range(1 << 18)])
        for row in [*fp8.rows(), *lora.rows()]:
            with self.subTest(row=row["name"]):
                micro_batch = row.get("micro_batch", row["batch"])
                settings = [*row["overrides"], "data.train=tokens.bin",
                            f"batch.micro_batch_size={micro_batch}",
                            f"batch.global_batch_size={row['batch']}"]
                done = self.run_trainx("plan", ROOT / row["recipe"], "--gpu", "h200", "--json",
                                       *settings)
                plan = json.loads(done.stdout.splitlines()[-1])
                self.assertLess(plan["total_bytes"], plan["budget_bytes"])
                if row["name"].endswith("-fp8"):
                    self.assertTrue(plan["products"].startswith("fp8 in "), plan["products"])
                self.assertEqual(plan["tokens_per_step"], row["batch"] * row["length"])

    def table(self, name, *args):
        done = self.run_trainx("bench", name, ROOT / "configs" / "quickstart.yaml", "run.device=cpu", *args)
        self.assertFalse((self.folder / "outputs").exists())
        return done.stdout

    def test_anatomy_of_memory(self):
        for precision in ("fp32", "bf16"):
            table = json.loads(self.table("memory-anatomy", f"precision.compute={precision}", "--json"))
            rows = {row["category"]: row for row in table["memory"]}
            self.assertEqual(sum(row["measured_bytes"] for row in rows.values()), table["measured_bytes"])
            for name in ("weights", "master weights", "gradients", "optimizer state", "activations", "activation gradients", "scratch", "batch and scalars", "alignment and gaps"):
                self.assertEqual(rows[name]["measured_bytes"], rows[name]["predicted_bytes"], f"{precision}: {name}")
            self.assertLessEqual(rows["library calls"]["measured_bytes"], rows["library calls"]["predicted_bytes"])
            sums = [line["total"] for line in table["bytes_per_parameter"]]
            self.assertEqual(sums[:5], [18, 12, 14, 16, 6])
            self.assertLess(abs(table["bytes_per_parameter"][-1]["optimizer"] - 8), 0.5)      # gaps and the padded vocabulary beside
        text = self.table("memory-anatomy")
        for words in ("predicted", "measured", "8-bit AdamW", "Adafactor", "22.81", "whole"):
            self.assertIn(words, text)

    def test_anatomy_of_operations(self):
        table = json.loads(self.table("operations", "--json"))
        rows = {(row["direction"], row["operations"]): row for row in table["rows"]}
        self.assertAlmostEqual(sum(row["time_share"] for row in rows.values()), 1)
        self.assertLessEqual(table["operations_ms"], 1.001 * table["step_ms"])
        self.assertGreater(table["operations_ms"], 0.8 * table["step_ms"])
        for key in (("forward", "contractions"), ("backward", "contractions"), ("forward", "attention"), ("forward", "statistical"), ("backward", "element-wise"), ("update", "optimizer")):
            self.assertGreater(rows[key]["ms"], 0, key)
            self.assertGreater(rows[key]["flops"], 0, key)
        self.assertGreater(rows["backward", "contractions"]["ms"], rows["forward", "contractions"]["ms"])
        text = self.table("operations", "memory.activation_checkpoint=full")
        for words in ("contractions", "statistical", "recompute", "backward takes"):
            self.assertIn(words, text)

    def test_profile_of_a_run(self):
        done = self.run_trainx("train", self.recipe(tiny(steps=30)), "run.device=cpu",
                               "memory.optimizer_offload=cpu", "--profile", "2")
        self.assertIn("profile of 2 steps", done.stderr)
        told = (self.folder / "outputs" / "tiny" / "profile.json").read_text()
        events = json.loads(told)["traceEvents"]
        names = [e["name"] for e in events]
        self.assertGreaterEqual(names.count("forward h0.attention"), 2)
        self.assertLessEqual({"matrix products", "attention", "norm", "activation", "loss", "optimizer"}, {e["cat"] for e in events})
        self.assertEqual({e["tid"] for e in events}, {"compute", "copy_in", "copy_out", "host"})
        self.assertTrue(all(e["dur"] >= 0 for e in events))


if __name__ == "__main__":
    main()
