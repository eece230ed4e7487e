"""Frozen weights of ranks on one host: one sealed copy in memory, with the losses and checkpoints
of copies, and nothing left of it when processes die."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from processes import children_of
from support import TRAINX, Trainx, main, sampled, sha256

RECIPE = """\
run: {{name: r, seed: {seed}, duration: {steps} steps, deterministic: true, hang_limit: 20 s, device: cpu}}
model:
  type: gpt2
  options: {{num_layers: {layers}, num_heads: 8, hidden_size: 512, max_positions: 32}}
  adapter: {{type: lora, rank: 2}}
data: {{type: stories, sequence_length: 32, samples: 512}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: fp32
optimizer: {{type: adamw, lr: 3e-3, max_grad_norm: 0}}
schedule: {{type: constant}}
checkpoint: {{every: {every} steps}}
eval: {{every: 100000 steps}}
metrics: {{every: 1 steps}}
"""
# A system that has no memory files for weights.
REFUSE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
int memfd_create(const char* name, unsigned flags) {
  if (strcmp(name, "trainx-weights") == 0) return errno = ENOSYS, -1;
  return ((int (*)(const char*, unsigned))dlsym(RTLD_NEXT, "memfd_create"))(name, flags);
}
"""
NAME = "/memfd:trainx-weights"
WAITS = "for ranks that are killed"


def mappings(pid):
    """Of sealed weights in a process: (inode, permissions, {field of smaps: bytes})."""
    found = []
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps").read_text()
    except OSError:
        return found                    # it has ended
    for line in text.splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            _, permissions, _, _, inode, *path = line.split(maxsplit=5)
            of_weights = bool(path) and path[0].startswith(NAME)
            if of_weights:
                found.append((int(inode), permissions, {}))
        elif of_weights and line.endswith(" kB"):
            field, value, _ = line.split()
            found[-1][2][field[:-1]] = int(value) * 1024
    return found


def total(pid, field):
    return sum(fields[field] for _, _, fields in mappings(pid))


def anonymous(pid):
    """Bytes that a process has for itself."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous: +(\d+) kB", text, re.MULTILINE)[1]) * 1024


@unittest.skipUnless(os.sysconf("SC_PAGESIZE") == 4096, "pages are not of 4096 bytes")
class SharedWeights(Trainx):
    forks = True

    def write(self, steps=3, every=3, layers=4):
        self.recipe(RECIPE.format(seed=self.random.randrange(1000), steps=steps, every=every,
                                  layers=layers), "r.yaml")

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def plan(self, *settings):
        return json.loads(self.run_trainx("plan", "r.yaml", "--json", *settings).stdout)

    def start(self, name, *settings):
        run = subprocess.Popen([TRAINX, "train", "r.yaml", f"run.name={name}", *settings],
                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, env=self.environment())
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def wait_for(self, run, ready):
        end = time.monotonic() + 60
        while time.monotonic() < end and run.poll() is None:
            if ready():
                return
            time.sleep(0.02)
        self.fail(f"it did not come so far: {run.stderr.read() if run.poll() is not None else ''}")

    def wait_for_step(self, run, name):
        path = self.folder / "outputs" / name / "metrics.jsonl"
        self.wait_for(run, lambda: path.exists() and '"step":2,' in path.read_text())

    def checkpoint(self, name):
        folder = max((self.folder / "outputs" / name).glob("checkpoint-*"))
        return {p.name: sha256(p) for p in folder.glob("*.safetensors")}

    def test_ranks_of_a_host_hold_frozen_weights_once_and_cannot_change_them(self):
        self.write(steps=100000, every=100000)
        plan = self.plan("parallel.world_size=2", "parallel.mode=ddp")
        shared = plan["shared_weights"]["bytes"]
        self.assertGreater(shared, 48 << 20)
        run = self.start("two", "parallel.world_size=2", "parallel.mode=ddp")
        self.wait_for_step(run, "two")
        workers = children_of(run.pid, "trainx-worker")
        self.assertEqual(len(workers), 2)
        for worker in workers:
            found = mappings(worker)
            self.assertEqual({inode for inode, _, _ in found}, {mappings(workers[0])[0][0]})
            self.assertEqual({permissions for _, permissions, _ in found}, {"r--s"})
            self.assertEqual(total(worker, "Size"), shared)
            # half of each page that both have read
            self.assertLess(total(worker, "Pss"), 0.6 * total(worker, "Rss"))
        both = sum(map(anonymous, workers))
        run.kill()
        run.wait()
        # what a run has that cannot share
        alone = self.start("one", "parallel.world_size=1", "batch.global_batch_size=4")
        self.wait_for_step(alone, "one")
        worker, = children_of(alone.pid, "trainx-worker")
        self.assertEqual(mappings(worker), [])
        self.assertLess(both, 2 * (anonymous(worker) - shared) + shared // 2)

    def test_the_plan_counts_what_ranks_share_once(self):
        self.write()
        ddp = ["parallel.world_size=2", "parallel.mode=ddp", "memory.budget=8 GiB"]
        plan = self.plan(*ddp)
        shared = plan["shared_weights"]
        self.assertEqual(shared["ranks"], 2)
        self.assertEqual(shared["of_other_ranks_bytes"], shared["bytes"] // 2)
        parts = plan["arena_bytes"] + plan["library_bytes"] + plan["process_bytes"]
        self.assertEqual(plan["total_bytes"], parts - shared["of_other_ranks_bytes"])
        self.assertEqual(sum(c["bytes"] for c in plan["memory"]), plan["total_bytes"])
        self.assertIn("shared weights", self.run_trainx("plan", "r.yaml", *ddp).stdout)
        one = self.plan("parallel.world_size=1", "memory.budget=8 GiB")
        self.assertNotIn("shared_weights", one)
        # a budget that holds a rank's share, and not all
        between = plan["total_bytes"] + shared["of_other_ranks_bytes"] // 2
        self.plan(*ddp[:2], f"memory.budget={between} B")
        small = plan["total_bytes"] - (1 << 20)
        self.refused("plan", "r.yaml", *ddp[:2], f"memory.budget={small} B",
                     "batch.micro_batch_size=4", code=71)

    @sampled
    def test_losses_and_checkpoints_are_those_of_copies(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        (self.folder / "refuse.c").write_text(REFUSE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", "refuse.so", "refuse.c", "-ldl"],
                       cwd=self.folder, check=True)
        refuse = self.environment(LD_PRELOAD=str(self.folder / "refuse.so"))
        self.write(steps=2, every=1, layers=1)
        self.run_trainx("train", "r.yaml", "run.name=one")
        for mode in self.drawn(("ddp", "zero1", "zero2")):
            ranks = ["parallel.world_size=2", f"parallel.mode={mode}"]
            shared, copies, cut = (f"{mode}-{what}" for what in ("shared", "copies", "cut"))
            self.run_trainx("train", "r.yaml", f"run.name={shared}", *ranks)
            self.assertFalse(self.tells_of_copies(shared))
            self.run_trainx("train", "r.yaml", f"run.name={copies}", *ranks, env=refuse)
            self.assertTrue(self.tells_of_copies(copies))
            # a run that goes on loads them anew
            self.run_trainx("train", "r.yaml", f"run.name={cut}", "run.duration=1 steps", *ranks)
            self.run_trainx("train", "r.yaml", f"run.name={cut}", *ranks)
            for alone, together in zip(self.losses("one"), self.losses(shared), strict=True):
                self.assertLess(abs(together / alone - 1), 1e-6)
            for other in copies, cut:
                self.assertEqual(self.losses(shared), self.losses(other), other)
                self.assertEqual(self.checkpoint(shared), self.checkpoint(other), other)

    def tells_of_copies(self, name):
        logs = self.folder / "outputs" / name / "logs"
        told = ["copy of frozen" in (logs / f"rank-{rank}.log").read_text()
                for rank in range(2)]
        self.assertEqual(told[0], told[1])
        return told[0]

    def test_a_rank_that_dies_while_the_first_one_loads_ends_all(self):
        self.write(steps=100000, every=100000)
        for rank in 0, 1:
            run = self.start(f"k{rank}", "parallel.world_size=2", "parallel.mode=ddp")
            workers = []

            def loads():
                workers[:] = children_of(run.pid, "trainx-worker")
                return len(workers) == 2 and bool(mappings(workers[0]))

            self.wait_for(run, loads)
            # the first one has the mapping that it loads into
            os.kill(workers[rank], signal.SIGKILL)
            _, err = run.communicate(timeout=30)
            self.assertEqual(run.returncode, 128 + signal.SIGKILL, err)
            self.assertRegex(err, rf"rank {rank} \(.*pid {workers[rank]}", err)
            for worker in workers:
                self.assertFalse(pathlib.Path(f"/proc/{worker}").exists(), "no orphan")


if __name__ == "__main__":
    main()
