"""configs/cluster/torchrun.sh on two to three hosts: if one is lost the others go on from the newest
checkpoint, and with it again once it is back. Each agent of torchrun stands for a host; trainx and
its ranks are real, on CPUs. Steps are slow until the job has its hosts back."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import uuid

from ports import free_ports
from support import BUILD, ROOT, TRAINX, Trainx, main

REFERENCE = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
TORCHRUN = os.environ.get("TRAINX_TORCHRUN") or shutil.which("torchrun") or shutil.which(
    "torchrun", path=str(pathlib.Path(REFERENCE).parent) if REFERENCE else "") or ""
SCRIPT = ROOT / "configs" / "cluster" / "torchrun.sh"
WORKER = BUILD / "tests" / "callback-worker"    # whose steps take longer while a file exists
STEP_MS = 100
STEPS = 1000
MOST_SECONDS = 180
RECIPE = f"""\
run: {{name: tiny, seed: 3, duration: {STEPS} steps, hang_limit: 20 s}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: 12}}
optimizer: {{type: adamw, lr: 3e-3}}
checkpoint: {{every: 5 steps, keep_last: 2}}
metrics: {{every: 1 steps}}
"""
WAITS = "for the times after which torchrun gives a host up"


@unittest.skipUnless(TORCHRUN, "torchrun is not installed (TRAINX_TORCHRUN names one)")
class Elastic(Trainx):
    def setUp(self):
        super().setUp()
        self.mark = uuid.uuid4().hex
        self.config, self.slow = self.recipe(RECIPE), self.folder / "slow"
        self.run_folder = self.folder / "outputs" / "tiny"
        (self.port,) = free_ports(1)
        self.agents = {}
        self.addCleanup(lambda: [self.lose(host) for host in list(self.agents)])

    def environment(self, host):
        path = ":".join([str(pathlib.Path(TRAINX).parent), str(pathlib.Path(TORCHRUN).parent),
                         os.environ["PATH"]])
        return super().environment(
            PATH=path, OMP_NUM_THREADS="1", TRAINX_WORKER=str(WORKER), SLOW=str(self.slow),
            STEP_MS=str(STEP_MS), HOST_OF_TEST=f"{self.mark}-{host}", HOSTS="2:3",
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port), LOCAL_ADDR="127.0.0.1",
            RANKS_PER_HOST="1", MAX_RESTARTS="10", RUN_ID=self.mark,
            # all stand-ins have the address of the store, and host 0 alone is to keep it
            RDZV_CONF=f"is_host={int(host == 0)},keep_alive_interval=1,last_call_timeout=3")

    def begin(self, host):
        with open(self.folder / f"host-{host}", "ab") as log:
            self.agents[host] = subprocess.Popen([SCRIPT, self.config], cwd=self.folder, stdout=log,
                                                 stderr=log, env=self.environment(host))

    def lose(self, host):
        """As a host ends that loses power: agent, trainx and rank at once."""
        wanted = f"HOST_OF_TEST={self.mark}-{host}".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        self.agents.pop(host).wait()

    def told(self):
        return "".join(p.read_text(errors="replace")[-4000:]
                       for p in sorted(self.folder.glob("host-*")))

    def steps(self):
        path = self.run_folder / "metrics.jsonl"
        return path.read_text().count("\n") if path.exists() else 0

    def trains_on(self, ranks):
        """Waits until so many ranks train."""
        path, end = self.run_folder / "resolved.yaml", time.monotonic() + MOST_SECONDS
        while not (path.exists() and f"world_size: {ranks}\n" in path.read_text()):
            self.go_on(end)
        before = self.steps()
        while not self.steps() > before + 10:
            self.go_on(end)

    def go_on(self, end):
        self.assertLess(time.monotonic(), end, self.told())
        self.assertEqual([a.poll() for a in self.agents.values()], len(self.agents) * [None],
                         self.told())
        time.sleep(0.05)

    def test_a_lost_host_leaves_and_comes_back(self):
        self.slow.touch()
        for host in (0, 1, 2):
            self.begin(host)
        self.trains_on(3)
        lost = self.random.choice((1, 2))
        self.lose(lost)
        self.trains_on(2)
        self.begin(lost)
        self.trains_on(3)
        self.slow.unlink()
        self.assertEqual([a.wait(MOST_SECONDS) for a in self.agents.values()], 3 * [0], self.told())
        self.assertEqual(self.metrics("tiny")[-1]["step"], STEPS)
        steps = [m["step"] for m in self.metrics("tiny")]
        self.assertEqual(sorted(set(steps)), list(range(1, STEPS + 1)))


if __name__ == "__main__":
    main()
