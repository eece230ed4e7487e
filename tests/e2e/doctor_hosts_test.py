"""`trainx doctor --hosts` on two pretended hosts: what it measures between them, that each of them
remembers it and plans by it, and what it refuses."""
import json
import math
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

from ports import free_ports
from support import TRAINX, Refusal, main, tiny
from two_hosts import TwoHosts

TORCHRUN = os.environ.get("TRAINX_TORCHRUN") or shutil.which("torchrun") or ""
WAITS = "for ranks that meet"
USAGE, DIFFERENT = 2, 78
FOUR = ("batch.global_batch_size=32", "--world", "4", "--hosts", "2")     # ranks of two hosts
DELAY, RATE = 1e-3, 1.25e9                # of the cable, one way


class NetworkOfTwoHosts(TwoHosts):
    networks = True

    def environment_of(self, number):
        return self.environment(OMP_NUM_THREADS="1",
                                XDG_CACHE_HOME=str(self.folder / f"cache-{number}"))

    def assert_rates(self, told, ranks):
        names = [host["name"] for host in told["hosts"]]
        self.assertEqual(names, ["host0", "host1"])
        self.assertEqual([host["address"] for host in told["hosts"]],
                         [host.address for host in self.hosts.all])
        self.assertEqual([host["interface"] for host in told["hosts"]], ["cable", "cable"])
        self.assertEqual([(host["ranks"], host["gpus"]) for host in told["hosts"]],
                         2 * [(ranks, [])])
        self.assertEqual([(p["from"], p["to"]) for p in told["pairs"]], [(0, 1), (1, 0)])
        sums = [told[name] for name in ("all", "across", "within") if name in told]
        numbers = [n for each in (*told["pairs"], *sums) for n in each.values()]
        self.assertTrue(all(math.isfinite(n) for n in numbers) and min(numbers) >= 0, numbers)
        for each in (*told["pairs"], *sums):
            self.assertGreater(each["bytes_per_second"], 0)
        if not self.hosts.is_slow_link:
            return
        for pair in told["pairs"]:
            self.assertGreaterEqual(pair["round_trip_seconds"], 2 * DELAY)
            self.assertLess(pair["bytes_per_second"], 1.1 * RATE)
        self.assertGreaterEqual(told["across"]["latency_seconds"], DELAY)
        self.assertLess(ranks * told["across"]["bytes_per_second"], 1.1 * RATE)

    def plan_on(self, number, *more, of=FOUR):
        recipe = self.recipe(tiny())
        done = subprocess.run(
            self.hosts.all[number].command(TRAINX, "plan", recipe, *of, *more),
            capture_output=True, text=True, env=self.environment_of(number), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_is_measured_is_remembered_by_each_host_and_planned_by(self):
        self.assertNotIn("measured_hosts", self.plan_on(0, "--json"))
        told = json.loads(self.measure_network("--json", ranks=2))
        self.assertEqual((told["transport"], told["all"]["ranks"]), ("TCP", 4))
        self.assertEqual((told["across"]["ranks"], told["within"]["ranks"]), (2, 2))
        self.assert_rates(told, 2)
        secret = self.folder / "outputs" / ".doctor-hosts.secret"
        self.assertEqual(stat.S_IMODE(secret.stat().st_mode), 0o600)
        for number in (0, 1):
            traffic = json.loads(self.plan_on(number, "--json"))["host_traffic"]
            self.assertEqual(traffic["measured_hosts"], 2)
            self.assertAlmostEqual(traffic["measured_network_bytes_per_s"],
                                   told["across"]["bytes_per_second"], delta=1)
            self.assertEqual(traffic["measured_network_latency_s"],
                             told["across"]["latency_seconds"])
            least = traffic["network_bytes"] / (2 * traffic["measured_network_bytes_per_s"])
            self.assertGreaterEqual(1.001 * traffic["network_ms"] / 1e3, least)
            self.assertNotIn("assumed_network_bytes_per_s", traffic)
            self.assertIn("measured", self.plan_on(number))
        wide = json.loads(self.plan_on(0, "--json", of=(FOUR[0], "--world", "8", "--hosts", "4")))
        self.assertNotIn("measured_hosts", wide["host_traffic"], "two of these four")
        other = json.loads(self.plan_on(0, "--gpu", "h100", "--json"))["host_traffic"]
        self.assertGreater(other["assumed_network_bytes_per_s"], 0)
        elsewhere = json.loads(self.run_trainx(
            "plan", self.recipe(tiny()), *FOUR, "--json",
            env=self.environment_of(0)).stdout)
        self.assertNotIn("measured_hosts", elsewhere["host_traffic"], "another host")

    def test_one_rank_a_host_and_the_table(self):
        text = self.measure_network(ranks=1)
        for word in ("host0", "host1", "host0 - host1", "cable", self.hosts.all[1].address):
            self.assertIn(word, text)
        self.assertNotIn("within hosts", text)

    def test_another_trainx_is_refused(self):
        (port,) = free_ports(1)
        other = self.folder / "trainx-worker"
        own = pathlib.Path(TRAINX).with_name("trainx-worker")
        other.write_bytes(own.read_bytes() + b"\0")
        other.chmod(0o755)

        def environment(number):
            return {**self.environment_of(number), **({"TRAINX_WORKER": str(other)} if number
                                                      else {})}
        codes = self.run_on_both(lambda number, _: [TRAINX, "doctor", "--hosts",
                                                    *self.flags(number, 1, port)], environment)
        self.assertEqual(codes, [DIFFERENT, DIFFERENT], self.told())
        self.assertIn("rank 1 (host host1", self.told(0))

    @unittest.skipUnless(TORCHRUN, "torchrun is not installed (TRAINX_TORCHRUN names one)")
    def test_under_torchrun(self):
        (port,) = free_ports(1)
        codes = self.run_on_both(lambda number, _: [
            TORCHRUN, "--nnodes=2", f"--node-rank={number}", "--nproc-per-node=1",
            f"--master-addr={self.hosts.all[0].address}", f"--master-port={port}", "--no-python",
            TRAINX, "doctor", "--hosts", "--json"])
        self.assertEqual(codes, [0, 0], self.told())
        self.assert_rates(json.loads(self.printed(0).read_text()), 1)

    def test_ranks_of_one_host_have_nothing_to_measure(self):
        (port,) = free_ports(1)
        ranks = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port)}
        started = [subprocess.Popen([TRAINX, "doctor", "--hosts", "--json"], cwd=self.folder,
                                    stdout=subprocess.PIPE, text=True,
                                    env=self.environment(RANK=str(k), LOCAL_RANK=str(k), **ranks))
                   for k in range(2)]
        told = [process.communicate(timeout=120)[0] for process in started]
        self.assertEqual([process.returncode for process in started], [USAGE, USAGE], told)
        said = Refusal(subprocess.CompletedProcess([], USAGE, told[0], "")).message
        self.assertIn("between hosts", said)                # rank 0 alone prints

    def test_flags_that_name_no_hosts_are_refused(self):
        self.refused("doctor", "--hosts", code=USAGE, names=("--nnodes",))
        self.refused("doctor", "--hosts", "--nproc-per-node", "2", code=USAGE, names=("--nnodes",))
        self.refused("doctor", "--hosts", "--nnodes", "2", code=USAGE, names=("--node-rank",))
        self.refused("doctor", "--nnodes", "2", code=USAGE, names=("--hosts",))
        self.refused("doctor", "--secret-file", "x", code=USAGE, names=("--hosts",))
        self.refused("doctor", "--hosts", "--nnodes", "many", code=USAGE, names=("--nnodes",))
        self.assertFalse((self.folder / "outputs").exists())


if __name__ == "__main__":
    main()
