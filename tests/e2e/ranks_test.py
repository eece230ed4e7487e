"""A run cut over several ranks on one host: how ranks are started, and what happens when one dies,
stops or is late. tests/equality/ranks.yaml has their numbers."""
import json
import os
import pathlib
import signal
import subprocess
import time

from ports import free_ports
from processes import children_of
from support import TRAINX, Trainx, main, sampled, sha256

RECIPE = """\
run: {{name: r, seed: {seed}, duration: {steps} steps, deterministic: true, hang_limit: 5 s}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 30}}
batch: {{global_batch_size: 24, micro_batch_size: 2}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: cosine, warmup: 5 steps}}
checkpoint: {{every: {every} steps, keep_last: 2}}
eval: {{every: 10 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""
WAITS = "for time limits of ranks"


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


def workers_of(launcher):
    """Their process ids, in the order of ranks."""
    return children_of(launcher.pid, "trainx-worker")


class Ranks(Trainx):
    forks = True

    def train(self, name, *settings, expect=0, **how):
        return self.run_trainx("train", "r.yaml", f"run.name={name}", *settings, expect=expect,
                               **how)

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def evals(self, name):
        lines = map(json.loads,
                    (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines())
        return [m["eval_loss"] for m in lines if "eval_loss" in m]

    def write(self, steps=20, every=10):
        self.recipe(RECIPE.format(seed=self.random.randrange(1000), steps=steps, every=every),
                    "r.yaml")

    def start(self, name, *settings):
        return subprocess.Popen([TRAINX, "train", "r.yaml", f"run.name={name}", *settings],
                                cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env=self.environment())

    def wait_for_step(self, name, step, process):
        path = self.folder / "outputs" / name / "metrics.jsonl"
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            if path.exists() and any(
                    json.loads(line).get("step", 0) >= step
                    for line in path.read_text().splitlines()
                    if line.endswith("}")):
                return
            time.sleep(0.02)
        self.fail(
            f"{name} did not come to step {step}: {process.stderr.read() if process.poll() is not None else ''}"
        )

    @sampled
    def test_killing_any_rank_ends_the_others_with_a_sentence_that_names_it(self):
        self.write(steps=100000, every=100000)
        cases = [(world, mode, rank)
                 for world, mode in ((2, "ddp"), (3, "ddp"), (2, "dp"))
                 for rank in range(world)]
        for world, mode, rank in self.drawn(cases, few=3):
            name = f"k{mode}{world}{rank}"
            run = self.start(name, f"parallel.world_size={world}", f"parallel.mode={mode}")
            self.wait_for_step(name, self.random.randint(2, 30), run)
            workers = workers_of(run)
            self.assertEqual(len(workers), world)
            time.sleep(self.random.random() * 0.2)
            os.kill(workers[rank], signal.SIGKILL)
            killed = time.monotonic()
            _, err = run.communicate(timeout=30)
            self.assertLess(time.monotonic() - killed, 5, err)
            self.assertEqual(run.returncode, 128 + signal.SIGKILL, err)
            self.assertRegex(err, rf"rank {rank} \(.*pid {workers[rank]}", err)
            for worker in workers:
                self.assertFalse(pathlib.Path(f"/proc/{worker}").exists(), "no orphan")
        self.assertEqual([p for p in pathlib.Path("/dev/shm").glob("*trainx*")], [])

    @sampled
    def test_a_stopped_rank_is_named_within_the_hang_limit(self):
        self.write(steps=100000, every=100000)
        for rank in self.drawn((0, 1, 2)):
            name = f"s{rank}"
            run = self.start(name, "parallel.world_size=3")
            self.wait_for_step(name, 3, run)
            workers = workers_of(run)
            os.kill(workers[rank], signal.SIGSTOP)
            stopped = time.monotonic()
            _, err = run.communicate(timeout=60)
            self.assertRegex(err, rf"rank {rank} \(.*pid {workers[rank]}", err)
            self.assertEqual(run.returncode, 81, err)
            # found within 5 s; what is stopped cannot end by itself, and is killed
            self.assertLess(time.monotonic() - stopped, 5 + 10, err)
            for worker in workers:
                self.assertFalse(pathlib.Path(f"/proc/{worker}").exists(), "no orphan")

    def test_an_evaluation_of_rank_0_alone_is_no_hang(self):
        self.write(steps=6, every=100)
        began = time.monotonic()
        self.train("quick", "parallel.world_size=2", "parallel.mode=dp", "eval.batches=1")
        quick = time.monotonic() - began
        for samples in (24000, 96000, 384000):      # until it takes longer than the hang limit
            began = time.monotonic()
            self.train(f"long-{samples}", "parallel.world_size=2", "parallel.mode=dp",
                       "run.hang_limit=1 s", "eval.batches=1000000",
                       f"data.eval_samples={samples}")
            if time.monotonic() - began - quick > 2:
                return
        self.fail("no evaluation took longer than the hang limit: this shows nothing")

    def test_a_rank_that_is_late_changes_nothing(self):
        self.write(steps=400, every=100000)
        self.train("plain", "parallel.world_size=3", "eval.every=100000 steps")
        run = self.start("late", "parallel.world_size=3", "eval.every=100000 steps")
        self.wait_for_step("late", 2, run)
        workers = workers_of(run)
        for _ in range(6):
            if run.poll() is not None:
                break
            worker = self.random.choice(workers)
            try:
                os.kill(worker, signal.SIGSTOP)
                time.sleep(self.random.random() * 0.3)
                os.kill(worker, signal.SIGCONT)
            except ProcessLookupError:
                break
            time.sleep(self.random.random() * 0.1)
        _, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(self.losses("late"), self.losses("plain"))

    def test_kill_nine_of_the_launcher_leaves_no_worker(self):
        self.write(steps=100000, every=100000)
        run = self.start("orphans", "parallel.world_size=4")
        self.wait_for_step("orphans", 2, run)
        workers = workers_of(run)
        self.assertEqual(len(workers), 4)
        run.kill()
        run.wait()
        end = time.monotonic() + 10
        while time.monotonic() < end and any(pathlib.Path(f"/proc/{w}").exists() for w in workers):
            time.sleep(0.05)
        self.assertEqual([w for w in workers if pathlib.Path(f"/proc/{w}").exists()], [])

    def test_signals_are_agreed_on(self):
        self.write(steps=100000, every=100000)
        for sent, code in ((signal.SIGTERM, 143), (signal.SIGUSR1, 75), (signal.SIGINT, 130)):
            name = f"signal{code}"
            run = self.start(name, "parallel.world_size=3")
            self.wait_for_step(name, 3, run)
            run.send_signal(sent)
            _, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, code, err)
            self.assertEqual(
                json.loads((self.folder / "outputs" / name / "status.json").read_text())["state"],
                "stopped")
        # One rank alone is told, as cluster managers may do it.
        run = self.start("alone", "parallel.world_size=3")
        self.wait_for_step("alone", 3, run)
        os.kill(workers_of(run)[2], signal.SIGUSR1)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 75, err)

    def test_restarts_go_on_from_the_newest_checkpoint(self):
        self.write(steps=300, every=20)
        self.train("whole", "parallel.world_size=2", "eval.every=100000 steps")
        run = self.start("again", "parallel.world_size=2", "eval.every=100000 steps",
                         "--max-restarts", "2")
        self.wait_for_step("again", 30, run)
        os.kill(self.random.choice(workers_of(run)), signal.SIGKILL)
        _, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, err)
        self.assertRegex(err, "restart")
        self.assertEqual(self.losses("again"), self.losses("whole"))
        self.assertEqual(sha256(self.folder / "outputs/again/latest/model.safetensors"),
                         sha256(self.folder / "outputs/whole/latest/model.safetensors"))

    def test_what_cannot_be_is_refused_in_a_sentence(self):
        self.write()
        for settings, code, names in (([
                "parallel.world_size=5"
        ], 78, ("batch.global_batch_size", 20, 30)), ([
                "parallel.world_size=2", "--nproc-per-node", "3"
        ], 78, ("parallel.world_size", 2, 3)), (["--nproc-per-node", "2",
                                                 "parallel.mode=single"], 78, ("parallel.mode", 2)),
                                      (["precision.reduce=bf16"], 78, ("precision.reduce", ))):
            refusal = self.refused("train", "r.yaml", "run.name=refused", *settings, code=code,
                                   names=names)
            self.check_sentence(f"recipe.ranks/{settings[0]}", refusal.message)
            self.assertFalse((self.folder / "outputs" / "refused").exists())

    def environment_of(self, rank, world, port):
        return self.environment(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank),
                                LOCAL_WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                                MASTER_PORT=str(port))

    def start_rank(self, name, rank, world, port, *settings):
        return subprocess.Popen([TRAINX, "train", "r.yaml", f"run.name={name}", *settings],
                                cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env=self.environment_of(rank, world, port))

    def test_ranks_that_trainx_or_torchrun_starts_train_as_one_process_does(self):
        self.write()
        self.train("one")
        self.train("ranks", "parallel.world_size=3")
        port, = free_ports(1)
        ranks = [self.start_rank("torchrun", r, 3, port) for r in range(3)]
        for r in ranks:
            _, err = r.communicate(timeout=120)
            self.assertEqual(r.returncode, 0, err)
        for name in ("ranks", "torchrun"):
            self.assertLess(largest_difference(self.losses(name), self.losses("one")), 1e-6)
            self.assertLess(largest_difference(self.evals(name), self.evals("one")), 1e-6)
        for name, world, mode in (("one", 1, "single"), ("ranks", 3, "ddp"), ("torchrun", 3,
                                                                              "ddp")):
            resolved = (self.folder / "outputs" / name / "resolved.yaml").read_text()
            self.assertIn(f"world_size: {world}", resolved)
            self.assertIn(f"mode: {mode}", resolved)

    def test_shards_are_saved_by_all_ranks_alike_though_one_host_has_no_memory_for_it_beside_training(
            self):
        self.write(steps=6)
        for name, kinds in (("same", ("false", "false")), ("differ", ("true", "false")),
                            ("other", ("false", "true"))):
            port, = free_ports(1)
            ranks = [
                self.start_rank(name, r, 2, port, "parallel.mode=zero1", "checkpoint.every=2 steps",
                                f"checkpoint.asynchronous={kind}") for r, kind in enumerate(kinds)
            ]
            for r in ranks:
                _, err = r.communicate(timeout=120)
                self.assertEqual(r.returncode, 0, err)
            self.run_trainx("ckpt", "verify", f"outputs/{name}")
            saved = {
                path.name: sha256(path)
                for path in (self.folder / f"outputs/{name}/latest").glob("*.safetensors")
            }
            if name == "same":
                want = saved
            self.assertTrue(saved)
            self.assertEqual(saved, want)

    def test_ranks_with_another_recipe_are_refused_by_all(self):
        self.write()
        port, = free_ports(1)
        ranks = [
            self.start_rank("differ", r, 2, port, f"optimizer.lr={1e-3 * (r + 1)}")
            for r in range(2)
        ]
        said = []
        for r in ranks:
            _, err = r.communicate(timeout=120)
            self.assertEqual(r.returncode, 78, err)
            said.append([line.split("trainx: ")[-1] for line in err.splitlines() if "plan" in line])
        self.assertEqual(said[0], said[1])
        self.assertTrue(said[0])
        self.assertFalse((self.folder / "outputs" / "differ").exists())


if __name__ == "__main__":
    main()
