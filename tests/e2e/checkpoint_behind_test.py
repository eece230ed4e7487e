"""checkpoint.asynchronous and checkpoint.every: auto: checkpoints that are written beside training,
however the run ends, and how long it waits. tests/equality/resume.yaml holds that they are those
that training waits for."""
import errno
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
import unittest

from support import Trainx, main, sampled, sha256, slow, tiny

BEHIND = "checkpoint.asynchronous=true"


class CheckpointBehind(Trainx):
    forks = True

    def events(self, *args):
        lines = map(json.loads, self.run_trainx("train", *args, "--json").stdout.splitlines())
        return [line for line in lines if line.get("event") == "checkpoint"]

    @sampled
    def test_killed_at_any_moment_the_newest_checkpoint_goes_on_to_the_same_weights(self):
        recipe = self.recipe(tiny(steps=40, every=2).replace("hidden_size: 32", "hidden_size: 128"))
        began = time.monotonic()
        self.run_trainx("train", recipe, "run.name=whole", BEHIND)
        length = time.monotonic() - began
        want = sha256(self.folder / "outputs/whole/latest/model.safetensors")
        wanted = len(self.drawn(range(5), 2))
        kills, deadline = 0, time.monotonic() + 240
        while kills < wanted and time.monotonic() < deadline:
            process = self.start_trainx("train", recipe, "run.name=killed", BEHIND)
            try:
                process.wait(timeout=self.random.uniform(0.3, max(length * 0.8, 0.5)))
                self.assertEqual(process.returncode, 0)
                shutil.rmtree(self.folder / "outputs" / "killed")
            except subprocess.TimeoutExpired:
                self.kill(process)
                kills += 1
                if list((self.folder / "outputs" / "killed").glob("checkpoint-*")):
                    self.run_trainx("ckpt", "verify", "outputs/killed")
        self.assertEqual(kills, wanted)
        self.run_trainx("train", recipe, "run.name=killed", BEHIND)
        self.assertEqual(sha256(self.folder / "outputs/killed/latest/model.safetensors"), want)
        self.assertEqual(
            [p.name for p in (self.folder / "outputs/killed").iterdir() if "partial" in p.name], [])

    def test_a_signal_and_an_error_leave_what_was_being_written(self):
        recipe = self.recipe(
            tiny(steps=100000, every=5).replace("cosine, warmup: 5 steps", "constant"))
        process = self.start_trainx("train", recipe, BEHIND)
        deadline = time.monotonic() + 60
        while not (self.folder /
                   "outputs/tiny/checkpoint-5").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
        status = json.loads((self.folder / "outputs/tiny/status.json").read_text())
        self.assertTrue((self.folder / f"outputs/tiny/checkpoint-{status['step']}").exists(),
                        status)
        self.run_trainx("ckpt", "verify", "outputs/tiny")

    @slow("tests/equality/resume.yaml; how long training waits is a measurement")
    def test_training_waits_for_less(self):
        """Weights and states of some 60 MB, saved every few steps."""
        recipe = self.recipe(
            tiny(steps=100, every=25).replace(
                "hidden_size: 32",
                "hidden_size: 448"))  # so far apart that a slow disk is done in between
        waited = self.events(recipe, "run.name=waited")
        behind = self.events(recipe, "run.name=behind", BEHIND)
        self.assertEqual([e["step"] for e in behind], [e["step"] for e in waited])
        for event in waited:
            self.assertAlmostEqual(event["waited_s"], event["seconds"], delta=0.05)
        shares = [e["waited_s"] / e["seconds"] for e in behind[:-1]
                  ]  # training has nothing left to do beside the last
        print("training waited for these shares of its checkpoints:", [round(s, 2) for s in shares])
        self.assertLess(statistics.median(shares), 0.5)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_a_disk_that_fills_behind_training_leaves_the_older_checkpoint_and_the_run_going(self):
        disk = self.folder / "disk"
        for cut in ([], ["parallel.world_size=2", "parallel.mode=zero2"]):
            with self.subTest(str(cut)):
                disk.mkdir(exist_ok=True)
                if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                                   str(disk)], capture_output=True).returncode != 0:
                    self.skipTest("tmpfs cannot be mounted here")
                try:
                    recipe = self.recipe(
                        tiny(steps=20, every=5).replace("keep_last: 2", "keep_last: 9"))
                    done = self.run_trainx("train", recipe, f"run.output_dir={disk}", BEHIND, *cut,
                                           expect=None)
                    self.assertRegex(done.stderr,
                                     rf"{os.strerror(errno.ENOSPC)}\b.*\bcheckpoint-\d")
                    self.assertEqual(done.returncode, 74,
                                     done.stderr)  # the last checkpoint could not be saved either
                    self.assertTrue((disk / "tiny" / "checkpoint-5").exists())
                    self.run_trainx("ckpt", "verify", disk / "tiny")
                    self.assertEqual(
                        [p.name for p in (disk / "tiny").iterdir() if "partial" in p.name], [])
                finally:
                    subprocess.run(["umount", "-l", str(disk)])

    def test_the_plan_has_the_copy(self):
        recipe = self.recipe(tiny(precision="bf16"))

        def plan(*settings):
            return json.loads(
                self.run_trainx("plan", recipe, "--json", *settings).stdout.splitlines()[-1])
        behind, waiting = plan(BEHIND), plan()
        copied = {m["category"]: m["bytes"]
                  for m in behind["memory"]}["checkpoint on its way to disk"]
        residents = sum(m["bytes"]
                        for m in behind["memory"]
                        if m["category"] in ("weights", "master weights", "optimizer state"))
        self.assertGreaterEqual(copied, residents)
        self.assertLess(copied, residents + 4096)               # counters and learning rates
        self.assertEqual(behind["total_bytes"] - waiting["total_bytes"], copied)
        done = self.run_trainx("plan", recipe, BEHIND, f"memory.budget={waiting['total_bytes']} B",
                               expect=71)
        self.assertIn("memory.budget", done.stderr)

    def test_an_evaluation_has_no_copy(self):
        recipe = self.recipe(tiny(steps=8))
        self.run_trainx("train", recipe, BEHIND)
        needs = json.loads(self.run_trainx("plan", recipe,
                                           "--json").stdout.splitlines()[-1])["total_bytes"]
        self.run_trainx("plan", recipe, BEHIND, f"memory.budget={needs} B", expect=71)
        behind = self.recipe(
            tiny(steps=8).replace("checkpoint: {", "checkpoint: {asynchronous: true, "),
            "tiny_behind.yaml")
        self.assertIn(
            "loss",
            self.run_trainx("eval", behind, "run.name=tiny", f"memory.budget={needs} B").stdout)

    def test_on_a_cpu_training_waits_unless_it_is_asked_not_to(self):
        recipe = self.recipe(tiny(steps=8))
        for name, settings, resolved in (("auto", [], "false"), ("asked", [BEHIND], "true")):
            self.run_trainx("train", recipe, f"run.name={name}", *settings)
            self.assertIn(f"asynchronous: {resolved}\n",
                          (self.folder / "outputs" / name / "resolved.yaml").read_text())
        self.assertRegex(self.run_trainx("show", recipe).stdout, r"asynchronous: false +# planned")
        self.refused("validate", recipe, "checkpoint.asynchronous=maybe",
                     key="checkpoint.asynchronous", names=("true", "false", "auto"),
                     sentence="recipe.asynchronous_maybe")

    def auto(self, seconds):
        """Checkpoints of a run of so many seconds that says checkpoint.every: auto."""
        recipe = self.recipe(
            tiny(steps=9).replace("duration: 9 steps", f"duration: {seconds} s").replace(
                "every: 10 steps, keep_last", "every: auto, keep_last").replace(
                    "cosine, warmup: 5 steps", "constant").replace("eval: {every: 20 steps",
                                                                   "eval: {every: 1000 s"))
        saved = self.events(recipe)
        self.assertIn("every: auto", (self.folder / "outputs/tiny/resolved.yaml").read_text())
        return saved

    def test_every_auto_saves_nothing_but_the_end_of_a_short_run(self):
        self.assertEqual(len(self.auto(3)), 1)

    @slow("test_every_auto_saves_nothing_but_the_end_of_a_short_run")
    def test_every_auto_saves_after_half_a_minute(self):
        saved = self.auto(34)
        seconds = [
            json.loads((self.folder / "outputs/tiny" / f"checkpoint-{e['step']}" /
                        "trainer_state.json").read_text())["seconds"] for e in saved
        ]
        self.assertEqual(len(saved), 2, saved)                  # after 30 s, and at the end
        self.assertGreaterEqual(seconds[0], 30)
        self.assertLess(seconds[0], 32)


if __name__ == "__main__":
    main()
