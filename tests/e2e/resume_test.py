"""Never loses a step: killed, damaged and signalled runs go on. tests/equality/resume.yaml holds
that they have the same bits."""
import json
import os
import shutil
import signal
import subprocess
import time

from support import Trainx, main, sampled, sha256, tiny


def wait_until(true, seconds=60):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.05)


class Resume(Trainx):
    forks = True

    @sampled
    def test_killed_runs_end_with_the_weights_of_the_uninterrupted_run(self):
        whole = self.recipe(tiny(steps=60, every=5, seed=3), "whole.yaml")
        began = time.monotonic()
        self.run_trainx("train", whole, "run.name=whole")
        length = time.monotonic() - began
        want = sha256(self.weights("whole"))
        kills, wanted, deadline = 0, len(self.drawn(range(10), 4)), time.monotonic() + 300
        while kills < wanted and time.monotonic() < deadline:
            process = self.start_trainx("train", whole, "run.name=killed")
            try:
                process.wait(timeout=self.random.uniform(0.1, length))
                # finished before its time: once more from the start of a fresh folder
                self.assertEqual(process.returncode, 0)
                self.assertEqual(sha256(self.weights("killed")), want)
                shutil.rmtree(self.folder / "outputs" / "killed")
            except subprocess.TimeoutExpired:
                self.kill(process)
                kills += 1
                saved = [int(p.name.split("-")[1]) for p in (self.folder / "outputs" / "killed").glob("checkpoint-*")]
                if saved:
                    self.assertIn(self.status("killed")["state"], ("running", "done"))
                    self.assertIn(self.status("killed")["saved_step"], [None, *saved, max(saved) - 5])
                    self.assertGreaterEqual(self.status("killed")["step"], self.status("killed")["saved_step"] or 0)
        self.assertEqual(kills, wanted)
        self.run_trainx("train", whole, "run.name=killed")
        self.assertEqual(sha256(self.weights("killed")), want)
        steps = [m["step"] for m in self.metrics("killed")]
        self.assertEqual(steps, sorted(set(steps)), "metrics.jsonl has a step twice or out of order")

    def test_a_damaged_checkpoint_is_named_and_the_older_one_used(self):
        recipe = self.recipe(tiny(steps=20, every=10))
        self.run_trainx("train", recipe)
        want = sha256(self.weights("tiny"))
        run = self.folder / "outputs" / "tiny"
        path = run / "checkpoint-20" / "optimizer.safetensors"
        data = bytearray(path.read_bytes())
        data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        path.write_bytes(data)
        self.run_trainx("ckpt", "verify", run, expect=None)
        done = self.run_trainx("train", recipe)
        self.assertIn("checkpoint-20", done.stderr)
        self.assertIn("optimizer.safetensors", done.stderr)
        self.assertEqual(sha256(self.weights("tiny")), want)

    def test_nothing_is_removed_because_it_cannot_be_read(self):
        recipe = self.recipe(tiny(steps=20, every=10))
        self.run_trainx("train", recipe, "checkpoint.keep_last=1")
        run = self.folder / "outputs" / "tiny"
        path = run / "checkpoint-20" / "model.safetensors"
        sound = path.read_bytes()
        data = bytearray(sound)
        data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        path.write_bytes(data)
        # no right to read them is of no use to root
        missing = run / "checkpoint-20" / "manifest.json"
        for what in ("damaged", "without a manifest"):
            if what != "damaged":
                missing.unlink()
            files = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
            for more in ((), ("run.duration=30 steps",), ("checkpoint.resume=must",)):
                with self.subTest(what=what, more=more):
                    self.refused("train", recipe, *more, code=83, names=("checkpoint-20", "--overwrite"))
                    self.assertEqual({p: p.read_bytes() for p in run.rglob("*") if p.is_file()}, files)
        self.refused("train", recipe, "--fork", "other", code=83, names="checkpoint-20")
        self.assertFalse((self.folder / "outputs" / "other").exists())
        self.run_trainx("train", recipe, "--overwrite")
        self.assertEqual(path.read_bytes(), sound)

    def test_links_that_a_kill_left_behind_are_mended(self):
        recipe = self.recipe(tiny(steps=30, every=100).replace("eval: {every: 20 steps", "eval: {every: 3 steps").replace("cosine, warmup: 5 steps", "constant"))
        diverging = (recipe, "optimizer.lr=30", "optimizer.max_grad_norm=0", "checkpoint.every=3 steps")
        self.run_trainx("train", *diverging)
        run = self.folder / "outputs" / "tiny"
        latest, best = os.readlink(run / "latest"), os.readlink(run / "best")
        self.assertEqual(latest, "checkpoint-30")
        for more in ((), ("run.duration=33 steps",)):
            (run / "latest").unlink()
            (run / "latest").symlink_to("checkpoint-27")
            (run / "best").unlink()
            (run / f".best.partial-{2**22 + 1}").symlink_to(best)
            (run / f".checkpoint-30.partial-{2**22 + 1}").mkdir()
            self.run_trainx("train", *diverging, *more)             # "already done", then three steps
            with self.subTest(more=more):
                self.assertEqual(os.readlink(run / "latest"), "checkpoint-33" if more else latest)
                self.assertEqual(os.readlink(run / "best"), best)
                self.assertTrue((run / best).is_dir())
                self.assertEqual(list(run.glob(".*.partial-*")), [])

    def test_best_is_the_checkpoint_of_the_lowest_held_out_loss(self):
        recipe = self.recipe(tiny(steps=30, every=100).replace("eval: {every: 20 steps", "eval: {every: 3 steps").replace("cosine, warmup: 5 steps", "constant"))
        self.run_trainx("train", recipe, "optimizer.lr=30", "optimizer.max_grad_norm=0")      # so that the loss goes up
        lines = map(json.loads, (self.folder / "outputs" / "tiny" / "metrics.jsonl").read_text().splitlines())
        best = min((m["eval_loss"], m["step"]) for m in lines if "eval_loss" in m)[1]
        self.assertLess(best, 30)
        self.assertEqual(os.readlink(self.folder / "outputs" / "tiny" / "best"), f"checkpoint-{best}")

    def test_a_finished_run_says_so_and_a_longer_duration_continues_it(self):
        recipe = self.recipe(tiny(steps=10, every=100))
        self.run_trainx("train", recipe)
        done = self.run_trainx("train", recipe, "--json")
        self.assertEqual([json.loads(line)["event"] for line in done.stdout.splitlines()], ["done"])
        self.check_sentence("run.already_done", json.loads(done.stdout)["message"])
        self.run_trainx("train", recipe, "run.duration=12 steps")
        self.assertEqual(self.metrics("tiny")[-1]["step"], 12)

    def test_a_changed_recipe_is_refused_with_the_differences_and_forks(self):
        recipe = self.recipe(tiny(steps=10, every=5))
        self.run_trainx("train", recipe)
        self.refused("train", recipe, "optimizer.lr=1e-4", "run.seed=9", names=("optimizer.lr", "run.seed"))
        self.run_trainx("train", recipe, "optimizer.lr=1e-4", "run.duration=14 steps", "--fork", "branch")
        self.assertEqual([m["step"] for m in self.metrics("branch")], [11, 12, 13, 14])
        self.run_trainx("train", recipe, "metrics.every=2 steps", "run.duration=12 steps")   # goes on: no number depends on it

    def test_signals_save_and_exit_with_their_codes(self):
        for name, code in (("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130), ("SIGUSR1", 75)):
            with self.subTest(signal=name):
                recipe = self.recipe(tiny(steps=100000, every=100000).replace("cosine, warmup: 5 steps", "constant"))
                process = self.start_trainx("train", recipe, f"run.name={name}")
                log = self.folder / "outputs" / name / "metrics.jsonl"
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline and not (log.exists() and log.stat().st_size > 500):
                    time.sleep(0.05)
                process.send_signal(getattr(signal, name))
                self.assertEqual(process.wait(timeout=60), code)
                status = self.status(name)
                self.assertTrue(status["resumable"])
                self.assertEqual(status["exit_code"], code)
                self.assertTrue(self.weights(name).exists())
                self.assertEqual(self.metrics(name)[-1]["step"], status["step"])

    def test_sigusr2_saves_and_goes_on(self):
        recipe = self.recipe(tiny(steps=100000, every=100000).replace("cosine, warmup: 5 steps", "constant"))
        process = self.start_trainx("train", recipe)
        run = self.folder / "outputs" / "tiny"
        wait_until(lambda: (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").stat().st_size > 500)
        before = {p.name for p in run.glob("checkpoint-*")}
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: {p.name for p in run.glob("checkpoint-*")} - before)
        saved = max(int(p.name.split("-")[1]) for p in run.glob("checkpoint-*"))
        wait_until(lambda: self.metrics("tiny")[-1]["step"] > saved + 5)
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 143)

    def test_a_worker_ends_with_its_launcher_and_frees_the_folder(self):
        recipe = self.recipe(tiny(steps=100000, every=100000).replace("cosine, warmup: 5 steps", "constant"))
        process = self.start_trainx("train", recipe)
        log = self.folder / "outputs" / "tiny" / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (log.exists() and log.stat().st_size):
            time.sleep(0.05)
        self.refused("train", recipe, code=73, names="outputs/tiny")
        self.kill(process)
        size = log.stat().st_size
        time.sleep(0.5)
        self.assertEqual(log.stat().st_size, size, "the worker goes on without its launcher")
        self.run_trainx("train", recipe, "run.duration=3 steps", "checkpoint.resume=auto")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
