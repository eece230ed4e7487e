"""A run of two nodes under a real Slurm that preempts it, ends its time, loses a node or is itself
restarted: the job that runs again ends with the weights, states and curve of a run that nobody
stopped. The nodes are pretended; trainx and its ranks are real. Steps are slow until the fault has
happened."""
import json
import os
import pathlib
import subprocess
import time
import unittest
import uuid

from cluster import Cluster, kill_all
from support import BUILD, ROOT, TRAINX, Trainx, main, sha256, slow

RECIPE = """\
run: {name: whole, seed: 3, duration: 120 steps, deterministic: true, hang_limit: 10 s}
model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}
data: {type: stories, sequence_length: 32, samples: 512, eval_samples: 10}
batch: {global_batch_size: 16, micro_batch_size: 1}
optimizer: {type: adamw, lr: 3e-3}
schedule: {type: cosine, warmup: 5 steps}
parallel: {mode: zero3}
checkpoint: {every: 10 steps, keep_last: 2}
eval: {every: 20 steps}
metrics: {every: 1 steps}
"""
NODES = ("t1", "t2", "t3")
# Slurm's own times, as short as they can be, and two partitions whose jobs give way to `high`.
SETTINGS = """\
SlurmdTimeout=6
MessageTimeout=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE MaxTime=INFINITE State=UP
PartitionName=graceful Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE GraceTime=60 State=UP
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
"""
SCRIPT = ROOT / "configs" / "cluster" / "slurm.sbatch"
WORKER = BUILD / "tests" / "callback-worker"    # whose steps take longer while a file exists
STEP_MS = 200                           # a run takes 24 s then, so that faults come in time
LIMIT = 400                             # seconds, after which a job counts as hung
OVER = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "PREEMPTED", "TIMEOUT")
WAITS = "for Slurm"
SAME = "another fault after which the job runs again; test_preempted shows one"


@unittest.skipIf(Cluster.missing(), Cluster.missing())
class ClusterFaults(Trainx):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(NODES, SETTINGS)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.wanted = None

    def setUp(self):
        super().setUp()
        self.mark, self.number, self.step_ms = uuid.uuid4().hex, "", STEP_MS
        self.addCleanup(self.end_all)
        self.config = self.recipe(RECIPE)
        self.slow = self.folder / "slow"

    def whole(self):
        """The result of a run that nobody stopped."""
        if self.wanted is None:
            self.run_trainx("train", self.config, "parallel.world_size=2", env=self.environment())
            type(self).wanted = self.result("whole")
        return self.wanted

    def end_all(self):
        kill_all(self.living())
        self.ask("scancel", "--user=root", "--signal=KILL", "--full")
        for node in NODES:
            if node not in self.cluster.processes:
                self.cluster.begin_node(node)
        self.wait_until(self.cluster.is_idle, "the cluster is idle again")

    def environment(self, **more):
        path = f"{pathlib.Path(TRAINX).parent}:{os.environ['PATH']}"
        return super().environment(PATH=path, SLURM_CONF=self.cluster.environment["SLURM_CONF"],
                                   OMP_NUM_THREADS="1", MASTER_ADDR="127.0.0.1",
                                   TRAINX_WORKER=str(WORKER), SLOW=str(self.slow),
                                   STEP_MS=str(self.step_ms), CLUSTER_TEST=self.mark, **more)

    def living(self):
        """Processes of this test, whoever their parent is."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"CLUSTER_TEST={self.mark}".encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def ask(self, *command):
        return self.cluster.ask(*map(str, command))

    def wait_until(self, true, what, seconds=LIMIT):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                self.fail(f"not within {seconds} s: {what}\n{self.told()}")
            time.sleep(0.1)

    def told(self):
        logs = sorted(self.folder.glob("*.log"))
        return self.ask("scontrol", "show", "job") + "".join(p.read_text() for p in logs)

    def submit(self, *options):
        """The job, from the script of configs; returns when a checkpoint is saved."""
        self.slow.touch()
        done = subprocess.run(
            ["sbatch", "--parsable", "--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=0",
             "--partition=low", "--output=%x-%j.log", *options, SCRIPT, self.config,
             "run.name=job"], cwd=self.folder, env=self.environment(),
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.number = done.stdout.strip()
        self.wait_until(lambda: self.saved() > 0 or self.job("JobState") in OVER, "a checkpoint")
        self.assertGreater(self.saved(), 0, self.told())

    def saved(self):
        folders = (self.folder / "outputs" / "job").glob("checkpoint-[0-9]*")
        return max((int(f.name.split("-")[1]) for f in folders if f.name[11:].isdigit()), default=0)

    def job(self, field):
        for word in self.ask("scontrol", "show", "job", self.number).split():
            if word.startswith(f"{field}="):
                return word.split("=", 1)[1]
        return ""

    def runs_again(self, restarts=1):
        return int(self.job("Restarts") or 0) >= restarts

    def ends(self, restarts=(1,)):
        """The job ends well after so many restarts, with the whole run's result."""
        self.wait_until(lambda: self.runs_again(min(restarts)), "the job is queued again")
        self.slow.unlink()
        self.wait_until(lambda: self.job("JobState") in OVER, "the job's end")
        self.assertEqual((self.job("JobState"), self.job("ExitCode")), ("COMPLETED", "0:0"),
                         self.told())
        self.assertIn(int(self.job("Restarts")), restarts, self.told())
        self.assertEqual(self.result("job"), self.whole())
        self.wait_until(lambda: not self.living(), "nobody is left behind", 20)

    def result(self, run):
        folder = self.folder / "outputs" / run
        lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
        files = {p.name: sha256(p) for p in (folder / "latest").glob("*.safetensors")}
        self.assertEqual(len(files), 4, files)
        return {"latest": os.readlink(folder / "latest"), "files": files,
                "curve": [(m["step"], m.get("loss"), m.get("eval_loss")) for m in lines],
                "litter": [p.name for p in folder.rglob("*partial*")]}

    def preempt(self):
        """A job of a higher priority takes all nodes for a moment."""
        done = subprocess.run(["srun", "--partition=high", "--nodes=3", "--exclusive", "true"],
                              cwd=self.folder, env=self.environment(), capture_output=True,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_preempted(self):
        self.submit()
        self.preempt()
        self.ends()

    @slow(SAME)
    def test_preempted_with_a_time_of_grace(self):
        self.submit("--partition=graceful")
        self.preempt()
        self.ends()

    @slow(SAME)
    def test_requeued_by_hand(self):
        self.submit()
        self.ask("scontrol", "requeue", self.number)
        self.ends()

    @slow(SAME)
    def test_told_to_save_and_go_on_later(self):
        self.submit()
        self.ask("scancel", "--signal=USR1", self.number)
        self.ends()

    @slow(SAME)
    def test_told_to_end_and_queued_again_by_hand(self):
        self.submit()
        self.ask("scancel", "--signal=TERM", self.number)
        self.wait_until(lambda: self.job("JobState") == "FAILED", "the job's end")
        self.assertEqual(self.job("ExitCode"), "143:0", self.told())
        self.ask("scontrol", "requeue", self.number)
        self.ends()

    @slow(SAME)
    def test_the_step_killed_and_queued_again_by_hand(self):
        self.submit()
        self.ask("scancel", "--signal=KILL", f"{self.number}.0")
        self.wait_until(lambda: self.job("JobState") == "FAILED", "the job's end")
        self.ask("scontrol", "requeue", self.number)
        self.ends()

    @slow("Slurm's time limits are whole minutes")
    def test_the_time_is_up(self):
        self.step_ms = 600
        # Slurm looks every 30 s, and signals up to 30 s early: 20 to 50 s after the start.
        self.submit("--time=2", "--signal=USR1@70")
        self.wait_until(self.runs_again, "the job is queued again")
        self.ask("scontrol", "update", f"JobId={self.number}", "TimeLimit=60")
        self.ends()

    def lose(self, which, lose):
        """Loses the job's first or second node, as the job runs with a third one to spare."""
        self.submit()
        nodes = self.ask("scontrol", "show", "hostnames", self.job("NodeList")).split()
        self.assertEqual(self.job("BatchHost"), nodes[0])
        lose(nodes[which])
        self.ends()

    @slow(SAME)
    def test_the_second_node_is_lost(self):
        self.lose(1, self.cluster.kill_node)

    @slow(SAME)
    def test_the_first_node_is_lost(self):
        self.lose(0, self.cluster.kill_node)

    @slow(SAME)
    def test_the_first_node_is_lost_to_slurm_alone(self):
        """Its rank 0 trains on and keeps the folder until the other rank is gone."""
        self.lose(0, self.cluster.kill_daemons)

    @slow(SAME)
    def test_the_controller_is_restarted(self):
        self.submit()
        saves_state = self.cluster.saves_state()
        self.ask("scontrol", "update", f"JobId={self.number}", "Comment=to-be-saved")
        self.wait_until(saves_state, "the controller saves its state")
        self.cluster.kill("slurmctld")
        time.sleep(1)
        self.cluster.begin_controller()
        self.ends(restarts=(0, 1))          # 1: Slurm took it for lost


if __name__ == "__main__":
    main()
