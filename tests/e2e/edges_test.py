"""Runs at their edges: finished ones, forks, time limits, the last evaluation, signals outside of
training, changed data."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from support import TRAINX, Trainx, main, tiny, write_tokens

TOKENS = """\
run: {name: tokens, duration: 10 steps}
model: {type: gpt2, options: {num_layers: 1, num_heads: 2, hidden_size: 16, max_positions: 16, vocab_size: 100}}
data: {type: tokens, train: train.bin, sequence_length: 16}
batch: {global_batch_size: 2, micro_batch_size: 2}
optimizer: {type: adamw}
"""
LONG_RUN = tiny(steps=100000, every=100000).replace("cosine, warmup: 5 steps", "constant")
LIBRARIES = 64 << 20          # bytes of library files in the plan of a process


class Edges(Trainx):
    def test_a_fork_of_a_finished_run_holds_a_checkpoint(self):
        recipe = self.recipe(tiny(steps=10, every=5))
        self.run_trainx("train", recipe)
        self.run_trainx("train", recipe, "--fork", "branch")  # nothing is left to train
        self.assertEqual(self.weights("branch").read_bytes(), self.weights("tiny").read_bytes())
        self.assertEqual(self.status("branch")["state"], "done")
        self.run_trainx("ckpt", "verify", "outputs/branch")

    def test_a_fork_to_another_optimizer_begins_with_the_weights_alone(self):
        recipe = self.recipe(tiny(steps=6, every=3))
        self.run_trainx("train", recipe)
        done = self.run_trainx("train", recipe, "optimizer={type: sgd, lr: 0.01}", "--fork", "sgd")
        self.assertTrue([
            line for line in done.stderr.splitlines() if "optimizer.type" in line or "sgd" in line
        ], done.stderr)
        self.assertEqual([m["step"] for m in self.metrics("sgd")], [1, 2, 3, 4, 5, 6])
        self.assertLess(self.metrics("sgd")[0]["loss"], self.metrics("tiny")[0]["loss"])

    def test_best_may_be_the_last_step(self):
        self.run_trainx("train", self.recipe(tiny(steps=12,
                                                  every=100)))  # evaluated at the end alone
        self.assertEqual(os.readlink(self.folder / "outputs" / "tiny" / "best"), "checkpoint-12")

    def test_a_run_limited_in_time_ends_and_is_done_when_asked_again(self):
        recipe = self.recipe(tiny().replace("20 steps, d", "1.5 s, d").replace(
            "cosine, warmup: 5 steps", "constant"))
        self.run_trainx("train", recipe)
        steps = self.status("tiny")["step"]
        self.assertGreater(steps, 0)
        again = json.loads(self.run_trainx("train", recipe, "--json").stdout.splitlines()[-1])
        self.assertEqual((again["event"], again["step"], self.status("tiny")["step"]),
                         ("done", steps, steps))

    def test_changed_training_data_is_refused(self):
        path = self.folder / "train.bin"
        write_tokens(path, [i % 100 for i in range(1000)])
        recipe = self.recipe(TOKENS)
        self.run_trainx("train", recipe)
        write_tokens(path, [i % 100 for i in range(2000)])
        self.refused("train", recipe, "run.duration=20 steps", names=(124, 62),
                     sentence="run.other_data")

    def test_sigterm_ends_generate(self):
        self.run_trainx("train", self.recipe(tiny(steps=6)))
        process = self.start_trainx("generate", "outputs/tiny", "--prompt", "Once", "--max-tokens",
                                    "100000000")
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 143)

    def test_a_shell_that_ignores_sigchld_gets_the_exit_code(self):
        recipe = self.recipe(tiny(steps=6))
        done = subprocess.run([TRAINX, "train", recipe], cwd=self.folder, capture_output=True,
                              text=True, env=self.environment(),
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_peak_of_the_process_stays_within_the_plan(self):
        recipe = self.recipe(
            tiny(steps=6, every=2).replace("hidden_size: 32",
                                           "vocab_size: 50000, hidden_size: 256"))
        for settings in ([], ["checkpoint.asynchronous=true"]):
            with self.subTest(str(settings)):
                self.peak_within_plan(recipe, "run.name=r" + str(len(settings)), *settings)

    def peak_within_plan(self, recipe, *settings):
        """Without the pages of library files: how many of them count as the process's depends on
        what the page cache holds, 72 MiB and more. The plan counts LIBRARIES of them."""
        plan = json.loads(self.run_trainx("plan", recipe, *settings, "--json").stdout)
        process = self.start_trainx("train", recipe, *settings)
        peak = files = 0
        while process.poll() is None:
            for worker in subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True,
                                         text=True).stdout.split():
                try:
                    status = pathlib.Path(f"/proc/{worker}/status").read_text()
                except OSError:
                    continue
                found = dict(re.findall(r"(VmHWM|RssFile):\s+(\d+) kB", status))
                peak = max(peak, int(found.get("VmHWM", 0)) * 1024)
                files = max(files, int(found.get("RssFile", 0)) * 1024)
            time.sleep(0.02)
        self.assertEqual(process.returncode, 0)
        print(f"   peak {peak}, of it files {files}, planned {plan['total_bytes']}")
        self.assertGreater(files, 0)
        self.assertLessEqual(peak - files, plan["total_bytes"] - LIBRARIES)


if __name__ == "__main__":
    main()
