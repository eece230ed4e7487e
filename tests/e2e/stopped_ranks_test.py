"""Somebody stops (SIGSTOP) a worker, its launcher, or both, of a run on one host or on two: what is
stopped can end nobody, and all processes of the run have ended within run.hang_limit + 10 s."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

from hosts import kill_all, living
from ports import free_ports
from processes import children_of, name_of, stat_of
from support import TRAINX, Trainx, main, sampled

HANG = 4                                # seconds
LIMIT = HANG + 10
RECIPE = f"""\
run: {{name: stopped, seed: 3, duration: 100000 steps, hang_limit: {HANG} s}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: 8, micro_batch_size: 2}}
optimizer: {{type: adamw, lr: 3e-3}}
parallel: {{mode: zero3}}
checkpoint: {{every: 100000 steps}}
metrics: {{every: 1 steps}}
"""
# Hosts of their own: each sees none of the other's processes, so that ranks use TCP. A shell is
# the first process of each, which nobody in there could kill.
APART = ("unshare", "--fork", "--pid", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?',
         "sh")
PEER_ENDED, STOOD_STILL = 82, 81
CASES = [(victim, world, hosts) for hosts in (1, 2) for world in (2, 4)
         for victim in ("worker", "launcher", "both")]
WAITS = "for time limits of ranks"


class StoppedRanks(Trainx):
    def setUp(self):
        super().setUp()
        self.mark = uuid.uuid4().hex
        self.addCleanup(kill_all, self.mark)

    def living(self):
        return living(self.mark)

    def start(self, world, hosts):
        """The launchers of a run, by host."""
        shutil.rmtree(self.folder / "outputs", ignore_errors=True)
        config, (port,) = self.recipe(RECIPE), free_ports(1)
        command = [TRAINX, "train", config, f"--nproc-per-node={world // hosts}"]
        env = self.environment(OMP_NUM_THREADS="1", STOPPED_RANKS=self.mark)
        started = []
        for host in range(hosts):
            where = [f"--nnodes={hosts}", f"--node-rank={host}", "--master-addr=127.0.0.1",
                     f"--master-port={port}"] if hosts > 1 else []
            with open(self.folder / f"errors-{host}", "wb") as errors:
                process = subprocess.Popen(
                    [*(APART if hosts > 1 else ()), *command, *where], cwd=self.folder, env=env,
                    stdout=subprocess.DEVNULL, stderr=errors)
            self.addCleanup(process.wait)
            started.append(process)
        return started

    def told(self):
        return "".join(p.read_text() for p in sorted(self.folder.glob("errors-*")))

    def wait_for_training(self, started):
        path, end = self.folder / "outputs" / "stopped" / "metrics.jsonl", time.monotonic() + 120
        while not (path.exists() and path.read_text().count("\n") > 3):
            self.assertLess(time.monotonic(), end, self.told())
            self.assertEqual([p.poll() for p in started], [None] * len(started), self.told())
            time.sleep(0.05)

    def groups(self):
        """(launcher, its workers), for each host."""
        living = self.living()
        workers = [p for p in living if name_of(p).startswith("trainx-worker")]
        parents = {int(stat_of(w)[1][1]) for w in workers}
        return [(launcher, children_of(launcher, "trainx-worker")) for launcher in sorted(parents)]

    def stop_one(self, victim, world, hosts):
        started = self.start(world, hosts)
        self.wait_for_training(started)
        launcher, workers = self.random.choice(self.groups())
        stopped = [launcher] * (victim != "worker")
        stopped += [self.random.choice(workers)] * (victim != "launcher")
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        began = time.monotonic()
        while (left := self.living()) and time.monotonic() < began + LIMIT:
            time.sleep(0.05)
        self.assertEqual([name_of(p) for p in left], [], f"after {LIMIT} s\n{self.told()}")
        codes = [process.wait() for process in started]
        wanted = (STOOD_STILL, PEER_ENDED, 128 + signal.SIGKILL, -signal.SIGKILL)
        self.assertTrue(all(code in wanted for code in codes), f"{codes}\n{self.told()}")
        status = json.loads((self.folder / "outputs/stopped/status.json").read_text())
        self.assertNotEqual(status["state"], "finished", status)

    @sampled
    def test_all_end_whoever_is_stopped(self):
        if subprocess.run([*APART, "true"], capture_output=True).returncode != 0:
            self.skipTest("processes of their own need root, or user namespaces")
        for case in self.drawn(CASES, few=2):
            with self.subTest(case=case):
                self.stop_one(*case)
            kill_all(self.mark)


if __name__ == "__main__":
    main()
