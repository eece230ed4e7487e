"""What a person sees of a run and what is kept of it: start screen, live line, log files, run.json,
--overwrite, eval's settings."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
from processes import children_of
from support import TRAINX, Trainx, main, write_tokens
from support import tiny as tiny_with_warmup

LINE = re.compile(
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) +rank (\d+) step (\d+): ")


def tiny(**how):
    """So few steps as the test asks for."""
    return tiny_with_warmup(**how).replace("warmup: 5 steps", "warmup: 1 steps")


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


class Logs(Trainx):
    def log(self, rank=0, run="tiny"):
        """(level, rank, step) of each line."""
        text = (self.folder / "outputs" / run / "logs" / f"rank-{rank}.log").read_text()
        found = [LINE.match(line) for line in text.splitlines()]
        self.assertTrue(all(found), text)
        return [(m[1], int(m[2]), int(m[3])) for m in found]

    def test_a_run_of_one_rank_has_a_log(self):
        recipe = self.recipe(tiny(steps=4))
        done = self.run_trainx("train", recipe)
        lines = self.log()
        self.assertEqual({rank for _, rank, _ in lines}, {0})
        self.assertEqual({step for _, _, step in lines}, {0, 1, 2, 3, 4})
        self.assertNotIn("debug", [level for level, _, _ in lines])
        self.assertFalse(any(LINE.match(line) for line in done.stderr.splitlines()))
        before = len(lines)
        self.run_trainx("train", recipe, "run.duration=6 steps")
        self.assertEqual(self.log()[before:][-1][2], 6)  # the next start adds to it

    def test_debug_lines_by_environment_and_by_v(self):
        recipe = self.recipe(tiny(steps=4))
        quiet = self.run_trainx("train", recipe, "-q", env=self.environment(TRAINX_LOG="debug"))
        self.assertGreater([level for level, _, _ in self.log()].count("debug"), 5)
        self.assertTrue(quiet.stderr)  # TRAINX_LOG has the last word
        verbose = self.run_trainx("train", recipe, "run.name=v", "-v")
        self.assertIn("debug", [level for level, _, _ in self.log(run="v")])
        plain = self.run_trainx("train", recipe, "run.name=p")
        self.assertGreater(len(verbose.stderr.splitlines()), len(plain.stderr.splitlines()) + 50)
        self.assertEqual(self.run_trainx("train", recipe, "run.name=q", "-q").stderr, "")

    def test_an_unknown_level_is_refused(self):
        done = self.run_trainx("version", env=self.environment(TRAINX_LOG="debgu"), expect=2)
        self.assertIn("TRAINX_LOG", done.stderr)
        self.assertIn("'debug'", done.stderr)

    def test_each_rank_has_a_log_and_rank_0_alone_tells_evaluations(self):
        done = self.run_trainx("train", self.recipe(tiny(steps=4)), "--nproc", "2",
                               env=self.environment(OMP_NUM_THREADS="1"))
        for rank in (0, 1):
            lines = self.log(rank)
            self.assertEqual({r for _, r, _ in lines}, {rank})
            self.assertEqual(lines[-1][2], 4)
        self.assertNotIn("[rank 1]", done.stderr)
        self.assertEqual(done.stderr.count("eval loss"), 1)

    def test_a_crash_leaves_the_last_lines(self):
        process = subprocess.Popen(
            [TRAINX, "train",
             self.recipe(tiny(steps=100000)), "metrics.every=10 steps"], cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment())
        wait_until(lambda: (self.folder / "outputs" / "tiny" / "metrics.jsonl").exists())
        wait_until(lambda: self.metrics("tiny"))
        worker = children_of(process.pid)[0]
        os.kill(worker, signal.SIGSEGV)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 139, said)
        lines = (self.folder / "outputs" / "tiny" / "logs" /
                 "rank-0.crash.log").read_text().splitlines()
        self.assertTrue(lines[0].startswith("-- "))
        self.assertIn("SIGSEGV", lines[0])
        self.assertTrue(all(LINE.match(line) for line in lines[1:]), lines)
        self.assertIn(
            "debug",
            [LINE.match(line)[1] for line in lines[1:]])  # also those that the log file leaves out


class Screen(Trainx):
    def test_the_start_is_one_screen(self):
        said = self.run_trainx("train", self.recipe(tiny(steps=2))).stderr.splitlines()
        start = said[:next(i for i, line in enumerate(said) if line.startswith("step "))]
        self.assertLessEqual(len(start), 20)
        self.assertLessEqual(max(map(len, start)), 80)
        for part in ("outputs/tiny", "run.seed=1", "memory", "batch"):
            self.assertIn(part, "\n".join(start))
        self.assertIn(
            "optimizer.options.eps",
            self.run_trainx("train", self.recipe(tiny(steps=2)), "run.name=v", "-v").stderr)

    def on_terminal(self, *args, until, signals=()):
        """All that a terminal of 80 columns gets."""
        screen, terminal = pty.openpty()
        environment = self.environment(TERM="xterm")
        environment.pop("NO_COLOR", None)
        process = subprocess.Popen([TRAINX, *args], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=terminal, env=environment,
                                   start_new_session=True)
        os.close(terminal)
        text, sent = b"", list(signals)
        try:
            while piece := os.read(screen, 65536):
                text += piece
                if sent and re.search(until, text.decode(errors="replace")):
                    process.send_signal(sent.pop(0))
        except OSError:
            pass
        os.close(screen)
        return process.wait(60), text.decode()

    def test_losses_stay_and_the_closing_sentence_is_last(self):
        recipe = self.recipe(tiny(steps=100000, every=100000))
        code, text = self.on_terminal("train", recipe, "eval.every=100000 steps",
                                      until=r"step +\d+/.*left", signals=[signal.SIGINT])
        self.assertEqual(code, 130)
        # What stands in the end: of each line what was written after the last return to its start.
        lines = [
            re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "",
                   line.rstrip("\r").split("\r")[-1]) for line in text.split("\n")
        ]
        lines = [line for line in lines if line]
        self.assertTrue(lines[-1].startswith("stopped at step"), lines[-3:])
        self.assertRegex(lines[-2], r"saved|^step ")
        self.assertTrue(any(line.startswith("step ") and "loss" in line for line in lines), lines)
        live = [
            frame for line in text.split("\n") for frame in line.rstrip("\r").split("\r")
            if frame.startswith("step ") and "loss" in frame and frame.endswith("\x1b[K")
        ]
        self.assertTrue(live)
        self.assertTrue(all(len(frame.removesuffix("\x1b[K")) < 80 for frame in live))
        self.assertTrue(any(frame.removesuffix("\x1b[K").endswith(" left") for frame in live),
                        live[:3])


class RunFiles(Trainx):
    def test_run_json_and_version_name_the_build(self):
        self.run_trainx("train", self.recipe(tiny(steps=2)))
        run = json.loads((self.folder / "outputs" / "tiny" / "run.json").read_text())
        version = json.loads(self.run_trainx("version", "--json").stdout)
        for key in ("version", "commit", "build_type", "compiler", "cuda", "libtorch"):
            self.assertEqual(run[key], version[key])
        self.assertRegex(version["commit"], r"^([0-9a-f]{12}(\+dirty)?|[0-9A-Za-z._-]+)$")
        self.assertEqual(version["libtorch"], "2.11.0")
        self.assertEqual(pathlib.Path(run["directory"]).resolve(), self.folder.resolve())
        self.assertEqual(run["argv"][1], "train")
        self.assertIn(version["commit"], self.run_trainx("version").stdout)


class Overwrite(Trainx):
    forks = True

    def test_a_run_begins_anew(self):
        recipe = self.recipe(tiny(steps=4))
        run = self.folder / "outputs" / "tiny"
        self.run_trainx("train", recipe)
        first = self.metrics("tiny")
        (run / "left-behind").write_text("x")
        self.run_trainx("train", recipe, "run.seed=9", expect=78)           # another run: refused
        self.run_trainx("train", recipe, "run.seed=9", "--overwrite")
        self.assertFalse((run / "left-behind").exists())
        self.assertEqual([m["step"] for m in self.metrics("tiny")], [1, 2, 3, 4])
        self.assertNotEqual([m["loss"] for m in self.metrics("tiny")], [m["loss"] for m in first])
        self.run_trainx("train", recipe, "--overwrite")
        self.assertEqual([m["loss"] for m in self.metrics("tiny")], [m["loss"] for m in first])
        self.run_trainx("train", recipe, "run.name=fresh",
                        "--overwrite")  # nothing there: nothing to remove

    def test_what_is_not_a_run_is_left_alone(self):
        mine = self.folder / "outputs" / "tiny" / "mine.txt"
        mine.parent.mkdir(parents=True)
        mine.write_text("precious")
        self.run_trainx("train", self.recipe(tiny(steps=4)), "--overwrite", expect=73)
        self.assertEqual(mine.read_text(), "precious")

    def test_what_the_new_run_needs_is_not_removed(self):
        recipe = self.recipe(tiny(steps=4))
        self.run_trainx("train", recipe)
        before = self.weights("tiny").read_bytes()
        for settings in (["model.init_from=outputs/tiny/latest"], ["--rehearse"],
                         ["--fork", "tiny"]):
            self.run_trainx("train", recipe, "--overwrite", *settings, expect=2)
        self.run_trainx("train", recipe, "--overwrite", "checkpoint.resume=must", expect=78)
        self.run_trainx("train", recipe, "run.name=absent", "--overwrite", "--fork", "tiny",
                        expect=83)
        self.assertEqual(self.weights("tiny").read_bytes(), before)

    def test_a_fork_that_fails_leaves_no_folder(self):
        recipe = self.recipe(tiny(steps=4))
        self.run_trainx("train", recipe)
        self.run_trainx("train", recipe, "--fork", "wider", "model.options.hidden_size=64",
                        expect=None)
        self.assertEqual(sorted(p.name for p in (self.folder / "outputs").iterdir()), ["tiny"])


class Eval(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        (self.folder / "data").mkdir()
        for name, count in (("train", 2000), ("held_out", 33 * 32 + 1), ("other", 700)):
            write_tokens(self.folder / "data" / f"{name}.bin",
                         [self.random.randrange(60) for _ in range(count)])
        text = tiny(steps=4).replace(
            "data: {type: stories, sequence_length: 32, samples: 512, eval_samples: 10}",
            "data: {type: tokens, train: data/train.bin, eval: data/held_out.bin, sequence_length: 32}"
        )
        self.config = self.recipe(
            text.replace("max_positions: 32,", "max_positions: 32, vocab_size: 64,"))
        self.run_trainx("train", self.config)

    def evaluated(self, *args, cwd=None):
        done = self.run_trainx("eval", *args, "--json", cwd=cwd)
        return json.loads(done.stdout.splitlines()[-1])

    def test_data_is_found_from_another_folder(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.assertEqual(self.evaluated("../outputs/tiny", cwd=elsewhere),
                         self.evaluated("outputs/tiny"))
        (self.folder / "data" / "held_out.bin").unlink()
        done = self.run_trainx("eval", "../outputs/tiny", cwd=elsewhere, expect=66)
        self.assertIn(str(self.folder.resolve() / "data" / "held_out.bin"), done.stderr)

    def test_settings_of_a_run(self):
        whole = self.evaluated("outputs/tiny")
        self.assertEqual(whole["eval_targets"], 33 * 32)
        self.assertEqual(
            self.evaluated("outputs/tiny", "data.eval=data/other.bin")["eval_targets"],
            699 // 32 * 32)
        self.assertEqual(
            self.evaluated("outputs/tiny", "eval.batches=2")["eval_targets"], 2 * 8 * 32)
        cut = self.evaluated("outputs/tiny", "batch.micro_batch_size=2")
        self.assertAlmostEqual(cut["eval_loss"], whole["eval_loss"], places=5)
        self.assertEqual(cut["eval_targets"], whole["eval_targets"])
        for setting in ("optimizer.lr=1", "data.train=data/other.bin", "run.seed=2"):
            self.assertIn(
                setting.split("=")[0],
                self.run_trainx("eval", "outputs/tiny", setting, expect=2).stderr)

    def test_settings_of_a_recipe(self):
        self.assertEqual(self.evaluated(self.config, "eval.batches=2")["eval_targets"], 2 * 8 * 32)
        self.assertEqual(self.evaluated(self.config)["eval_targets"],
                         33 * 32)  # the recipe's eval.batches is for training
        self.assertIn(
            "schedule.warmup",
            self.run_trainx("eval", self.config, "schedule.warmup=1 steps", expect=2).stderr)


class Small(Trainx):
    forks = True

    def test_warmup_in_percent(self):
        recipe = self.recipe(tiny(steps=40).replace("warmup: 1 steps", "warmup: 25 %"))
        self.run_trainx("train", recipe, "run.duration=12 steps")
        rates = [m["lr"] for m in self.metrics("tiny")]
        self.assertAlmostEqual(rates[2], max(rates))
        self.assertAlmostEqual(rates[0], max(rates) / 3)
        self.run_trainx("validate", recipe, "run.duration=2 min", "schedule.type=constant",
                        "schedule.final_ratio=0", expect=78)
        for key in ("eval.every", "checkpoint.every", "run.duration", "metrics.every"):
            self.assertIn(key, self.run_trainx("validate", recipe, f"{key}=5 %", expect=78).stderr)
        self.run_trainx("validate", recipe, "schedule.warmup=101 %", expect=78)

    def test_lists_tell_defaults(self):
        rows = json.loads(self.run_trainx("list", "optimizers", "--json").stdout)
        adamw = next(row for row in rows if row["name"] == "adamw")
        self.assertEqual(adamw["options"]["options.beta1"], "0.9")
        self.assertIn("list optimizers",
                      self.run_trainx("show", "optimizer.type=adafactor", expect=2).stderr)


if __name__ == "__main__":
    main()
