"""Ranks as real launchers give them: Slurm (two pretended nodes of this machine), Open MPI,
torchrun. Stub workers; each part is left out where its launcher is not installed."""
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import launch_test
from cluster import Cluster
from support import LONG, ROOT, TRAINX, main

TORCHRUN = os.environ.get("TRAINX_TORCHRUN") or shutil.which("torchrun") or ""
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
CONFIGS = ROOT / "configs" / "cluster"
WAITS = "for Slurm"


class Launchers(launch_test.Launch):
    def environment(self, **more):
        env = super().environment(**{"STUB": "await-all", **more})
        env["PATH"] = ":".join([
            str(pathlib.Path(TRAINX).parent),
            *([str(pathlib.Path(TORCHRUN).parent)] if TORCHRUN else []), env["PATH"]
        ])
        return env

    def ranks(self, start=0):
        """(rank, world, local rank, local world) of the workers that were started."""
        jobs = [
            self.job(rank, start)
            for rank in range(len(list(self.stubs.glob(f"job-*-{start}.json"))))
        ]
        self.assertEqual(len({(j["port"], j["run_id"], j["secret"], j["address"])
                              for j in jobs}), 1, jobs)
        return [(j["rank"], j["world_size"], j["local_rank"], j["local_world_size"]) for j in jobs
                ], jobs[0]

    def go(self, *command, expect=0, timeout=90, **env):
        done = subprocess.run(list(map(str, command)), cwd=self.folder, capture_output=True,
                              text=True, timeout=timeout, env=self.environment(**env))
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done


@unittest.skipIf(Cluster.missing(), Cluster.missing())
class Slurm(Launchers):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)

    def environment(self, **more):
        return super().environment(SLURM_CONF=self.cluster.environment["SLURM_CONF"], **more)

    def script(self, text):
        path = self.folder / "job.sh"
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)
        return path

    def test_srun(self):
        self.go("srun", "-N2", "-n3", "trainx", "train", self.config)
        ranks, first = self.ranks()
        self.assertEqual(ranks, [(0, 3, 0, 2), (1, 3, 1, 2), (2, 3, 0, 1)])
        self.assertEqual((first["launcher"], first["address"]), ("slurm", "t1"))
        self.forget()
        self.go("srun", "-N2", "-n3", "trainx", "train", self.config)
        self.assertNotEqual(self.ranks()[1]["secret"], first["secret"], "each start has its own")
        self.assertEqual(list((self.folder / "outputs").glob(".*.secret")), [])

    def test_tasks_of_one_node_meet(self):
        self.go("srun", "-N1", "-n3", "--overcommit", "trainx", "train", self.config)
        ranks, first = self.ranks()
        self.assertEqual((ranks, first["address"]), ([(r, 3, r, 3) for r in range(3)], "127.0.0.1"))
        self.assertTrue(20000 <= first["port"] < 30000)

    def test_a_script_and_a_step_of_one_task_start_their_own_workers(self):
        for command in ("trainx train $CONFIG", "trainx train $CONFIG --nproc 2",
                        "srun -N1 -n1 trainx train $CONFIG --nproc 2"):
            with self.subTest(command=command):
                self.forget()
                self.go("sbatch", "--wait", "-N2", "--ntasks-per-node=2", self.script(command),
                        CONFIG=self.config)
                ranks, first = self.ranks()
                self.assertEqual((len(ranks), first["launcher"]),
                                 (2 if "--nproc" in command else 1, "trainx"))

    def test_a_script_submitted_from_inside_a_task(self):
        script = self.script("trainx train $CONFIG --max-restarts 1")
        self.go("srun", "-N2", "-n4", "--overcommit", "bash", "-c",
                f'if [ "$SLURM_PROCID" = 3 ]; then sbatch -N1 {script}; fi', CONFIG=self.config,
                STUB="sleep 0.2")
        deadline = time.monotonic() + 30
        while not self.starts(0) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.ranks()[0], [(0, 1, 0, 1)])

    @unittest.skipUnless(shutil.which("mpirun"), "Open MPI is not installed")
    def test_ranks_of_an_mpirun_that_srun_carries(self):
        self.go("sbatch", "--wait", "-N2", "--ntasks-per-node=2",
                self.script("mpirun --oversubscribe -np 4 -x MASTER_ADDR=t1 trainx train $CONFIG"),
                CONFIG=self.config, **AS_ROOT)
        ranks, first = self.ranks()
        self.assertEqual(ranks, [(0, 4, 0, 2), (1, 4, 1, 2), (2, 4, 0, 2), (3, 4, 1, 2)])
        self.assertEqual(first["launcher"], "mpi")

    def test_the_worst_code_of_the_tasks_is_srun_s(self):
        self.go("srun", "-N2", "-n2", "trainx", "train", self.config, STUB_0="sleep 0.5; exit 82",
                STUB_1="exit 69", expect=82)

    def test_the_script_of_configs_asks_for_several_hosts(self):
        self.go("sbatch", "--wait", "--ntasks-per-node=2", "--gpus-per-node=0",
                CONFIGS / "slurm.sbatch", self.config)
        ranks, first = self.ranks()
        self.assertEqual(ranks, [(0, 4, 0, 2), (1, 4, 1, 2), (2, 4, 0, 2), (3, 4, 1, 2)])
        self.assertEqual((first["launcher"], first["address"]), ("slurm", "t1"))

    @unittest.skipUnless(LONG, "TRAINX_LONG: Slurm's time limits are whole minutes")
    def test_saved_before_the_time_is_up_and_queued_again(self):
        """configs/cluster/slurm.sbatch, with the sizes of this cluster."""
        self.go("sbatch", "--wait", "-N2", "--ntasks-per-node=2", "--gpus-per-node=0", "--time=1",
                "--signal=USR1@50", CONFIGS / "slurm.sbatch", self.config,
                STUB="first sleep 600; sleep 0", timeout=400)
        self.assertEqual([self.signals(rank) for rank in range(4)], 4 * [["USR1"]])
        self.assertEqual([self.starts(rank) for rank in range(4)], 4 * [2])
        self.assertNotEqual(self.job(0, 0)["run_id"], self.job(0, 1)["run_id"])


@unittest.skipUnless(shutil.which("mpirun"), "Open MPI is not installed")
class OpenMpi(Launchers):
    def test_mpirun(self):
        self.go("mpirun", "--oversubscribe", "-np", "3", "trainx", "train", self.config, **AS_ROOT)
        ranks, first = self.ranks()
        self.assertEqual((ranks, first["launcher"], first["address"]),
                         ([(r, 3, r, 3) for r in range(3)], "mpi", "127.0.0.1"))
        self.assertTrue(20000 <= first["port"] < 30000)

    def test_the_script_of_configs(self):
        self.go(CONFIGS / "mpirun.sh", self.config, RANKS="2", MASTER_ADDR="127.0.0.1",
                OMPI_MCA_rmaps_base_oversubscribe="1", STUB_1="exit 0", **AS_ROOT)
        self.assertEqual((len(self.ranks()[0]), self.ranks()[1]["port"]), (2, 29500))


@unittest.skipUnless(TORCHRUN, "torchrun is not installed (TRAINX_TORCHRUN names one)")
class Torchrun(Launchers):
    def test_the_script_of_configs(self):
        env = {
            "RANKS_PER_HOST": "2", "MAX_RESTARTS": "1",
            "MASTER_PORT": str(self.random.randrange(30100, 32000, 2))
        }
        # a start's secret goes with its rank 0, which ends when the other one has read it
        self.go(CONFIGS / "torchrun.sh", self.config, STUB="await-all; first exit 82",
                STUB_1="await-all; first exit 69", **env)
        for start in (0, 1):
            ranks, first = self.ranks(start)
            self.assertEqual((ranks, first["launcher"]), ([(0, 2, 0, 2), (1, 2, 1, 2)], "torchrun"))
        self.assertNotEqual(self.job(0, 0)["run_id"], self.job(0, 1)["run_id"])
        self.assertEqual(self.job(0, 1)["port"] % 2, 1)       # after that which the agent keeps


if __name__ == "__main__":
    main()
