"""The numbers of a training run: means, evaluations, schedules, early ends, warnings, and the files
that hold them."""
import csv
import json
import os
import shutil
import signal
import subprocess
import time

from support import TRAINX, Trainx, main, sha256, tiny

ALL = tiny(steps=6, every=3, dropout=0).replace("eval_samples: 10",
                                                "eval_samples: 50").replace(", batches: 5", "")
LONG_RUN = tiny(steps=100000, every=100000).replace("cosine, warmup: 5 steps", "constant")


class Loop(Trainx):
    forks = True

    def lines(self, run, name="metrics.jsonl"):
        return [
            json.loads(line)
            for line in (self.folder / "outputs" / run / name).read_text().splitlines()
        ]

    def evals(self, run):
        return [m for m in self.lines(run) if "eval_loss" in m]

    def train(self, recipe, run, *settings, expect=0):
        """Events by kind."""
        done = self.run_trainx("train", recipe, f"run.name={run}", "--json", *settings,
                               expect=expect)
        events = {}
        for event in map(json.loads, done.stdout.splitlines()):
            events.setdefault(event["event"], []).append(event)
        return events

    def wait_for_steps(self, run, steps=5):
        log, deadline = self.folder / "outputs" / run / "metrics.jsonl", time.monotonic() + 60
        while not (log.exists() and len(log.read_text().splitlines()) >= steps):
            self.assertLess(time.monotonic(), deadline, "no step in a minute")
            time.sleep(0.05)

    # Evaluations

    def test_evaluations_are_over_the_whole_set_as_by_trainx_eval(self):
        recipe = self.recipe(ALL)
        self.train(recipe, "all")
        last = self.evals("all")[-1]
        answer = json.loads(
            self.run_trainx("eval", "outputs/all", "--json").stdout.splitlines()[-1])
        self.assertEqual((last["eval_batches"], last["eval_all_batches"]), (7, 7))
        self.assertEqual(last["eval_targets"], answer["eval_targets"])
        self.assertAlmostEqual(last["eval_loss"], answer["eval_loss"], delta=1e-7)

    def test_some_batches_are_spread_over_the_set(self):
        recipe = self.recipe(ALL)
        self.train(recipe, "some", "eval.batches=2")
        some = self.evals("some")[-1]
        self.assertEqual((some["eval_batches"], some["eval_all_batches"], some["eval_targets"]),
                         (2, 7, 2 * 8 * 32))
        self.assertIn("2 of 7",
                      self.run_trainx("train", recipe, "run.name=shown", "eval.batches=2").stderr)
        of_first = json.loads(
            self.run_trainx("eval", recipe, "run.name=some", "data.eval_samples=16",
                            "--json").stdout.splitlines()[-1])
        self.assertNotAlmostEqual(some["eval_loss"], of_first["eval_loss"], delta=1e-6)

    def test_best_goes_by_the_metric_and_the_goal(self):
        recipe = self.recipe(ALL)
        self.train(recipe, "low", "eval.every=1 steps", "checkpoint.keep_last=6")
        self.train(recipe, "high", "eval.every=1 steps", "checkpoint.keep_last=6",
                   "eval.best={metric: perplexity, goal: higher}")
        for run, best in (("low", min), ("high", max)):
            step = best((m["eval_perplexity"], m["step"]) for m in self.evals(run))[1]
            self.assertEqual(os.readlink(self.folder / "outputs" / run / "best"),
                             f"checkpoint-{step}")
        report = self.run_trainx("report", "outputs/high", expect=0)
        self.assertEqual(report.returncode, 0)
        # Of another metric all values before count no more.
        self.train(recipe, "high", "eval.every=1 steps", "run.duration=8 steps",
                   "schedule={type: constant, warmup: 0 steps}")
        step = min((m["eval_loss"], m["step"]) for m in self.evals("high") if m["step"] > 6)[1]
        self.assertEqual(os.readlink(self.folder / "outputs" / "high" / "best"),
                         f"checkpoint-{step}")

    def test_early_stopping_ends_the_run_with_a_checkpoint(self):
        worse = ("optimizer.lr=30", "optimizer.max_grad_norm=0", "eval.every=2 steps",
                 "run.duration=60 steps", "schedule={type: constant, warmup: 0 steps}",
                 "checkpoint.every=100 steps")
        recipe, stop = self.recipe(ALL), "eval.early_stopping={patience: 2}"
        for run, settings in (("stop", ()), ("ranks", ("parallel.world_size=2",
                                                       "parallel.mode=dp"))):
            with self.subTest(run=run):
                self.train(recipe, run, stop, *worse, *settings)
                status, losses = self.status(run), [m["eval_loss"] for m in self.evals(run)]
                best = min(range(len(losses)), key=losses.__getitem__)
                self.assertEqual(len(losses), best + 3, losses)
                self.assertEqual((status["state"], status["exit_code"]), ("done", 0))
                self.assertTrue(status["reason"])
                self.assertLess(status["step"], 60)
                self.assertEqual(os.readlink(self.folder / "outputs" / run / "latest"),
                                 f"checkpoint-{status['step']}")
        status = self.status("stop")
        self.assertEqual(status["step"], self.evals("stop")[-1]["step"])
        self.train(recipe, "stop", stop, *worse)
        self.assertEqual(self.status("stop")["step"], status["step"])
        self.train(recipe, "stop", "eval.early_stopping={patience: 3}", *worse)
        self.assertGreater(self.status("stop")["step"], status["step"])
        # An improvement below min_delta is none.
        self.train(recipe, "delta", "eval.early_stopping={patience: 1, min_delta: 1000}",
                   "eval.every=2 steps", "run.duration=30 steps")
        self.assertLess(self.status("delta")["step"], 10)

    # Losses

    def test_the_logged_loss_is_the_mean_since_the_last_line(self):
        recipe = self.recipe(tiny(steps=12, every=3))
        self.train(recipe, "each")
        self.train(recipe, "fifth", "metrics.every=5 steps")
        each = {m["step"]: m for m in self.metrics("each")}
        for m in each.values():
            self.assertEqual(m["loss"], m["step_loss"])
        steps = [m["step"] for m in self.metrics("fifth")]
        self.assertEqual(steps, [1, 5, 10, 12])
        for before, m in zip([0, *steps], self.metrics("fifth")):
            among = [each[s]["loss"] for s in range(before + 1, m["step"] + 1)]
            self.assertAlmostEqual(m["loss"], sum(among) / len(among), delta=1e-12)
            self.assertEqual(m["step_loss"], each[m["step"]]["loss"])
        # As if killed after step 9's checkpoint: the mean of steps 6 to 10 is that of all five.
        want = [(m["step"], m["loss"], m["step_loss"]) for m in self.metrics("fifth")]
        run = self.folder / "outputs" / "fifth"
        shutil.rmtree(run / "checkpoint-12")
        (run / "latest").unlink()
        self.train(recipe, "fifth", "metrics.every=5 steps")
        self.assertEqual([(m["step"], m["loss"], m["step_loss"]) for m in self.metrics("fifth")],
                         want)

    def test_a_run_that_ends_without_a_finite_loss_exits_80(self):
        recipe = self.recipe(tiny(steps=8, every=4))
        settings = ("optimizer.lr=1e30", "optimizer.max_grad_norm=0",
                    "schedule={type: constant, warmup: 0 steps}")
        events = self.train(recipe, "nan", *settings, expect=80)
        self.assertEqual(events["error"][0]["exit_code"], 80)
        first = [w["message"] for w in events["warning"]][0]
        self.assertRegex(first, r"step 2\b.*samples(,? \d+){8}")
        self.assertTrue(self.weights("nan").exists())
        status = self.status("nan")
        self.assertEqual(
            (status["state"], status["exit_code"], status["step"], status["resumable"]),
            ("failed", 80, 8, False))
        self.train(recipe, "nan", *settings, expect=80)
        # Samples are places in the data set: those of the second step, in the order of training.
        told = [
            int(word.strip(",")) for word in first.split("samples ")[1].split(" of ")[0].split()
        ]
        self.assertEqual(len(set(told)), 8)
        self.assertTrue(all(0 <= i < 512 for i in told))
        unshuffled = self.train(recipe, "inorder", *settings, "data.shuffle=false",
                                expect=80)["warning"][0]["message"]
        self.assertIn(", ".join(map(str, range(8, 16))), unshuffled)

    def test_a_run_without_any_update_exits_80(self):
        recipe = self.recipe(tiny(steps=3, every=3).replace("cosine, warmup: 5 steps", "constant"))
        self.train(recipe, "base")
        folder = self.folder / "broken"
        shutil.copytree(self.folder / "outputs" / "base" / "checkpoint-3", folder)
        (folder / "manifest.json").unlink()
        data = bytearray((folder / "model.safetensors").read_bytes())
        header = 8 + int.from_bytes(data[:8], "little")
        data[header:] = b"\xff" * (len(data) - header)  # not a number, each of them
        (folder / "model.safetensors").write_bytes(data)
        plain = self.recipe(
            tiny(steps=3).replace("cosine, warmup: 5 steps", "constant").replace(
                ", options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: 0.1}",
                ", init_from: broken"), "plain.yaml")
        events = self.train(plain, "broken", "eval.every=100 steps", expect=80)
        self.assertRegex(events["warning"][0]["message"], r"step 1\b")
        self.assertEqual(self.metrics("broken")[-1]["applied_steps"], 0)

    def test_fp16s_search_for_a_loss_scale_is_no_news(self):
        events = self.train(self.recipe(tiny(steps=24)), "half",
                            "precision={compute: fp16, initial_loss_scale: 1e12}")
        self.assertLess(self.metrics("half")[-1]["applied_steps"], 24)
        self.assertNotIn("warning", events)

    # Schedules

    def test_a_longer_duration_says_what_becomes_of_the_learning_rate(self):
        recipe = self.recipe(tiny(steps=6, every=100).replace("cosine, warmup: 5 steps", "linear"))
        shutil.rmtree(self.folder / "outputs", ignore_errors=True)
        rates = {}
        for run, settings in (("extend", ()), ("restart", ("schedule.resume=restart",))):
            self.train(recipe, run, *settings)
            events = self.train(recipe, run, "run.duration=9 steps", *settings)
            rates[run] = [m["lr"] for m in self.metrics(run)]
            self.assertEqual(len(events["warning"]), 1)
            for rate in rates[run][5:7]:
                self.assertIn(f"{rate:.3g}", events["warning"][0]["message"])
        self.train(recipe, "always", "run.duration=9 steps")
        self.assertEqual(rates["extend"][6:], [m["lr"] for m in self.metrics("always")][6:])
        for got, want in zip(rates["restart"][6:], (3e-3, 2e-3, 1e-3)):
            self.assertAlmostEqual(got, want, delta=1e-12)

    def test_a_restarted_schedule_resumes_to_the_bit(self):
        recipe = self.recipe(
            tiny(steps=6, every=2).replace("cosine, warmup: 5 steps",
                                           "cosine, warmup: 2 steps, resume: restart"))
        for run in ("whole", "killed"):
            self.train(recipe, run)
            self.train(recipe, run, "run.duration=12 steps")
        folder = self.folder / "outputs" / "killed"
        shutil.rmtree(folder / "checkpoint-12")
        (folder / "latest").unlink()
        self.assertNotIn("warning", self.train(recipe, "killed", "run.duration=12 steps"))
        self.assertEqual([m["lr"] for m in self.metrics("killed")],
                         [m["lr"] for m in self.metrics("whole")])
        self.assertEqual(sha256(self.weights("killed")), sha256(self.weights("whole")))

    # Signals

    def test_a_terminal_that_closes_saves_on_all_ranks(self):
        process = self.start_trainx("train", self.recipe(LONG_RUN), "run.name=two",
                                    "parallel.world_size=2")
        self.wait_for_steps("two")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=60), 129)
        status = self.status("two")
        self.assertEqual((status["state"], status["exit_code"], status["resumable"]),
                         ("stopped", 129, True))
        self.assertTrue(self.weights("two").exists())

    def test_under_nohup_sighup_is_ignored(self):
        process = subprocess.Popen([TRAINX, "train", self.recipe(LONG_RUN)], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.environment(),
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_steps("tiny")
        process.send_signal(signal.SIGHUP)
        seen = len(self.metrics("tiny"))
        self.wait_for_steps("tiny", seen + 20)
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 143)

    # Files

    def test_metrics_have_time_and_epoch_and_a_table(self):
        recipe, began = self.recipe(tiny(steps=10, every=5)), time.time()
        self.train(recipe, "files")
        for m in self.lines("files"):
            self.assertAlmostEqual(m["epoch"], m["step"] * 8 / 512)
            self.assertTrue(began - 1 < m["unix_time_s"] < time.time() + 1)
        def check_table():
            with open(self.folder / "outputs" / "files" / "metrics.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            lines = self.lines("files")
            self.assertEqual(len(rows), len(lines))
            for row, line in zip(rows, lines):
                cells = {
                    key: value if isinstance(line[key], str) else json.loads(value)
                    for key, value in row.items()
                    if value
                }
                self.assertEqual(cells, line)
        check_table()
        status = self.status("files")
        self.assertEqual((status["step"], status["saved_step"]), (10, 10))
        self.assertAlmostEqual(status["epoch"], 10 * 8 / 512)
        self.assertAlmostEqual(status["samples_per_second"], 80 / status["seconds"])
        self.train(recipe, "files", "run.duration=12 steps")
        check_table()

    def test_status_has_the_last_step_while_the_run_goes_on(self):
        process = self.start_trainx("train", self.recipe(LONG_RUN), "eval.every=100000 steps")
        self.wait_for_steps("tiny")
        deadline = time.monotonic() + 60
        while self.status("tiny")["step"] == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        status = self.status("tiny")
        process.kill()
        process.wait()
        self.assertEqual((status["state"], status["saved_step"], status["resumable"]),
                         ("running", None, False))
        self.assertGreater(status["step"], 0)
        self.assertLess(abs(status["unix_time_s"] - time.time()), 60)

    # Texts

    def test_texts_are_written_during_training(self):
        recipe = self.recipe(tiny(steps=6, every=2, seed=7))
        events = self.train(recipe, "writes", "checkpoint.keep_last=9",
                            "generate={every: 2 steps, prompt: Once, tokens: 6}")
        self.assertEqual([e["step"] for e in events["sample"]], [2, 4, 6])
        samples = self.lines("writes", "samples.jsonl")
        self.assertEqual([(s["step"], s["prompt"]) for s in samples], [(2, "Once"), (4, "Once"),
                                                                       (6, "Once")])
        for s in samples:
            want = self.run_trainx("generate", f"outputs/writes/checkpoint-{s['step']}", "--prompt",
                                   "Once", "--max-tokens", "6", "--seed", "7").stdout.rstrip("\n")
            self.assertEqual(s["text"], want)
        self.run_trainx("train", recipe, "run.name=refused",
                        "generate={every: 2 steps, prompt: xylophone-quartz}", expect=65)


if __name__ == "__main__":
    main()
