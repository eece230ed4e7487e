"""Ranks are bound to cores where a host has several NUMA nodes, and nowhere else. The nodes are
pretended: a folder of this test is mounted where the kernel tells of them."""
import json
import os
import shutil
import subprocess
import unittest

import hosts
from support import TRAINX, Trainx, main, tiny

NODES = "/sys/devices/system/node"
CORES = sorted(os.sched_getaffinity(0))


def why_not(folder):
    if len(CORES) < 2 or len(CORES) != os.cpu_count():
        return "takes two cores and all of the machine's"
    return hosts.why_not(folder)


class CoreBinding(Trainx):
    def setUp(self):
        super().setUp()
        if why := why_not(self.folder):
            self.skipTest(why)
        half = len(CORES) // 2
        self.halves = [CORES[:half], CORES[half:2 * half]]
        self.nodes = self.folder / "node"
        for number, cores in enumerate(self.halves):
            node = self.nodes / f"node{number}"
            node.mkdir(parents=True)
            (node / "cpulist").write_text(",".join(map(str, cores)) + "\n")

    def on_two_nodes(self, *command, expect=0, **environment):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f'mount --bind "$1" {NODES} && shift && exec "$@"',
             "sh", self.nodes, *map(str, command)],
            cwd=self.folder, capture_output=True, text=True, env=self.environment(**environment))
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def bound(self, name):
        """The cores that each rank's log says it is bound to; None: it says none."""
        found = []
        for rank in range(2):
            log = (self.folder / "outputs" / name / "logs" / f"rank-{rank}.log").read_text()
            lines = [line for line in log.splitlines() if "runs as process" in line]
            self.assertTrue(lines, log)
            _, bound, cores = lines[-1].partition(", bound to cores ")
            found.append(cores if bound else None)
        return found

    def listed(self, cores):
        done = subprocess.run(["taskset", "-c", ",".join(map(str, cores)), "grep",
                               "Cpus_allowed_list", "/proc/self/status"], capture_output=True,
                              text=True, check=True)
        return done.stdout.split()[-1]

    @unittest.skipUnless(shutil.which("taskset"), "no taskset")
    def test_ranks_are_bound_to_whole_nodes_unless_a_launcher_has_bound_them(self):
        recipe = self.recipe(tiny())
        wanted = [self.listed(cores) for cores in self.halves]
        told = json.loads(self.on_two_nodes(TRAINX, "doctor", "--json"))["binding"]
        self.assertEqual([rank["cores"] for rank in told["ranks"]], wanted)
        self.assertNotIn("why_not", told)
        self.on_two_nodes(TRAINX, "train", recipe, "-v", "run.name=bound", "--nproc-per-node", "2")
        self.assertEqual(self.bound("bound"), wanted)
        self.on_two_nodes("taskset", "-c", CORES[0], TRAINX, "train", recipe, "-v",
                          "run.name=taken", "--nproc-per-node", "2")
        self.assertEqual(self.bound("taken"), [None, None])
        self.on_two_nodes(TRAINX, "train", recipe, "-v", "run.name=openmp", "--nproc-per-node", "2",
                          OMP_PROC_BIND="false")
        self.assertEqual(self.bound("openmp"), [None, None])

    def test_one_node_binds_nobody(self):
        shutil.rmtree(self.nodes / "node1")
        (self.nodes / "node0" / "cpulist").write_text(",".join(map(str, CORES)) + "\n")
        told = json.loads(self.on_two_nodes(TRAINX, "doctor", "--json"))["binding"]
        self.assertEqual(told["ranks"], [])
        self.assertIn("one NUMA node", told["why_not"])
        self.on_two_nodes(TRAINX, "train", self.recipe(tiny()), "-v", "run.name=one",
                          "--nproc-per-node", "2")
        self.assertEqual(self.bound("one"), [None, None])


if __name__ == "__main__":
    main()
