"""`trainx doctor`: what it says of this machine holds against /proc, takes seconds, leaves nothing
behind; broken installations and a made-up NVML."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from described import nothing_of_its_own
from support import TRAINX, Trainx, main, version


class Doctor(Trainx):
    forks = True

    def environment(self, **more):
        """With a worker that answers, so that the real one need not be built."""
        env = super().environment(**more)
        env.setdefault("TRAINX_WORKER", str(self.worker()))
        return env

    def worker(self):
        path = self.folder.parent / (self.folder.name + "-worker")
        if not path.exists():
            path.write_text(f"#!/bin/sh\necho '{nothing_of_its_own(version())}'\n")
            path.chmod(0o755)
            self.addCleanup(path.unlink)
        return path

    def examine(self, expect=0, **environment):
        return json.loads(
            self.run_trainx("doctor", "--json", expect=expect,
                            env=self.environment(**environment)).stdout)

    def problems(self, report, weight=None):
        return [f["problem"] for f in report["findings"] if weight in (None, f["weight"])]

    def test_facts_are_those_of_proc(self):
        begin = time.monotonic()
        report = self.examine()
        self.assertLess(time.monotonic() - begin, 15)
        meminfo = dict(
            line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
        self.assertEqual(report["memory"]["installed_bytes"],
                         int(meminfo["MemTotal"].split()[0]) * 1024)
        self.assertLessEqual(report["memory"]["free_bytes"], report["memory"]["installed_bytes"])
        self.assertEqual(report["cpu"]["cores_by_affinity"], len(os.sched_getaffinity(0)))
        cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
        if "model" in report["cpu"]:
            self.assertIn(report["cpu"]["model"], cpuinfo)
        self.assertEqual("AVX2" in report["cpu"]["instruction_sets"], " avx2 " in cpuinfo)
        self.assertEqual(report["versions"]["kernel"], os.uname().release)
        shm = os.statvfs("/dev/shm")
        self.assertEqual(report["limits"]["shared_memory_bytes"], shm.f_blocks * shm.f_frsize)
        self.assertEqual(report["disk"]["folder"], str(self.folder))
        for rate in (report["disk"]["write_bytes_per_second"],
                     report["disk"]["read_bytes_per_second"],
                     report["memory_bandwidth"]["bytes_per_second"],
                     report["memory_bandwidth"]["in_place_bytes_per_second"]):
            self.assertGreater(rate, 1e5)
        self.assertEqual(self.problems(report, "error"), [])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_text_has_the_sections_and_each_finding_a_remedy(self):
        done = self.run_trainx("doctor")
        for section in ("trainx ", "CPU ", "memory ", "limits ", "disk ", "GPUs ", "versions "):
            self.assertTrue(any(line.startswith(section) for line in done.stdout.splitlines()),
                            section)
        findings = [line for line in done.stdout.splitlines() if line.startswith("finding")]
        if not findings:
            self.check_sentence("doctor.no_findings", done.stdout.splitlines()[-1])
        self.assertTrue(all("; " in line for line in findings))
        self.assertEqual(done.stderr, "")
        self.assertIn("usage: trainx doctor", self.run_trainx("doctor", "--help").stdout)

    def test_nothing_is_left_whenever_it_is_interrupted(self):
        for wait in (0.4, 0.7, 1.0):
            running = subprocess.Popen([TRAINX, "doctor"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=self.environment())
            time.sleep(wait)
            running.send_signal(signal.SIGINT)
            running.wait(timeout=10)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_runs_go_to_outputs_where_it_is_and_one_that_cannot_be_written_is_an_error(self):
        outputs = self.folder / "outputs"
        outputs.mkdir()
        self.assertEqual(self.examine()["disk"]["folder"], str(outputs))
        self.assertEqual(list(outputs.iterdir()), [])
        outputs.rmdir()
        for target in ("/proc/self", "/nowhere"):             # which root cannot write to either
            outputs.symlink_to(target)
            report = self.examine(expect=69)
            self.assertEqual(len(self.problems(report, "error")), 1)
            self.assertFalse(report["disk"]["writable"])
            outputs.unlink()
        outputs.write_text("a file")
        self.check_sentence("doctor.outputs_is_file",
                            self.problems(self.examine(expect=69), "error")[0])

    def test_a_worker_that_cannot_be_used_is_an_error_and_the_rest_is_told(self):
        report = self.examine(expect=69, TRAINX_WORKER="/nowhere/worker")
        self.assertIn("/nowhere/worker", self.problems(report, "error")[0])
        self.assertIn("write_bytes_per_second", report["disk"])
        self.assertEqual(
            {key: report["trainx"]["worker"][key]
             for key in ("path", "present", "answers")},
            {"path": "/nowhere/worker", "present": False, "answers": False})

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a GPU")
    def test_no_gpu_is_said_in_a_line_and_is_no_finding(self):
        report = self.examine()
        self.assertEqual((report["gpus"]["present"], report["gpus"]["gpus"]), (False, []))
        self.assertFalse([p for p in self.problems(report) if "GPU" in p])
        (line, ) = [
            line for line in self.run_trainx("doctor").stdout.splitlines()
            if line.startswith("GPUs ")
        ]
        self.check_sentence("doctor.no_gpu", line)

    def test_what_nvml_tells_is_told(self):
        found = self.examine(LD_LIBRARY_PATH=self.fake_nvml(), CUDA_VISIBLE_DEVICES="0,1")
        gpus = found["gpus"]
        self.assertEqual((gpus["driver"], gpus["cuda"]), ("580.65.06", 13000))
        first, second = gpus["gpus"]
        self.assertEqual((first["address"], second["address"]), ("0000:17:00.0", "0000:b3:00.0"))
        self.assertEqual((first["memory_bytes"], first["memory_used_bytes"]),
                         (143771 << 20, 1 << 30))
        self.assertEqual((first["clock_mhz"], first["most_clock_mhz"], first["watts"],
                          first["most_watts"], first["celsius"]), (1500, 1980, 120.5, 700, 40))
        self.assertEqual((first["clock_limits"], second["clock_limits"]), (["temperature"], []))
        self.assertEqual((first["ecc"], first["ecc_corrected"], first["ecc_uncorrected"]),
                         (True, 5, 0))
        self.assertEqual(
            (first["compute_mode"], first["compute_capability"], first["bf16"], first["fp8"]),
            ("exclusive process", 90, True, True))
        self.assertEqual(
            first["nvlink"], {
                "active": 3, "inactive": 1, "to_switches": 1, "peers": ["0000:b3:00.0"] * 2,
                "bytes_per_second": 26562e6
            })
        self.assertEqual(first["unread"]["mig"], "Insufficient Permissions")
        self.assertNotIn("mig", first)
        self.assertEqual([p["pid"] for p in second["processes"]], [1])
        self.assertNotIn("memory_bytes", second["processes"][0])
        self.assertEqual(gpus["pairs"], [{
            "first": 0, "second": 1, "nvlinks": 3, "path": "between NUMA nodes", "peer_access": "ok"
        }])
        for name, part in (("clock", r"\b1500\b.*\b1980 MHz\b.*\btemperature\b"),
                           ("pcie", r"\bGPU 1\b.*\b5 x8\b"), ("in_use",
                                                              r"\bGPU 1\b.*\bprocess 1\b")):
            (problem,) = [p for p in self.problems(found) if re.search(part, p)]
            self.check_sentence(f"doctor.gpu/{name}", problem)
        text = self.run_trainx(
            "doctor", env=self.environment(LD_LIBRARY_PATH=str(self.folder / "nvml"),
                                           CUDA_VISIBLE_DEVICES="0,1")).stdout
        (line, ) = [
            line for line in text.splitlines()
            if "NVLinks" in line and "27 GB/s" in line and "0000:b3:00.0" in line
        ]
        self.check_sentence("doctor.nvlinks", line.strip())

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a GPU")
    def test_measured_links_are_told_and_planned_with(self):
        if not self.examine()["trainx"]["build"]["cuda"]:
            self.skipTest("built without CUDA")
        first, second = "0000:17:00.0", "0000:b3:00.0"
        links = {
            "hosts": [{
                "gpu": gpu, "to_gpu_bytes_per_second": 5e10, "to_host_bytes_per_second": 4.8e10
            } for gpu in (first, second)], "pairs": [{
                "from": a, "to": b, "staged_bytes_per_second": 3e10,
                "direct_bytes_per_second": 7e10, "latency_seconds": 9e-6
            } for a, b in ((first, second), (second, first))],
            "sum": {"gpus": 2, "bytes_per_second": 3e11, "latency_seconds": 2e-5}
        }
        plain, worker = self.worker(), self.folder / "measuring"
        worker.write_text(
            f"#!/bin/sh\n[ \"$1\" = --measure-links ] && echo '{json.dumps(links)}' || exec {plain} \"$@\"\n"
        )
        worker.chmod(0o755)
        machine = {
            "LD_LIBRARY_PATH": self.fake_nvml(), "TRAINX_WORKER": str(worker),
            "XDG_CACHE_HOME": str(self.folder / "cache"), "CUDA_VISIBLE_DEVICES": "0,1"
        }
        recipe = self.recipe(
            "model: {type: gpt2, size: 124m}\nbatch: {global_batch_size: 128, micro_batch_size: 64}\nrun: {device: gpu}\nparallel: {world_size: 2}\nprecision: {compute: bf16}\n"
        )
        plan = lambda: json.loads(
            self.run_trainx("plan", recipe, "--json", env=self.environment(**machine)).stdout)
        before = plan()
        report = self.examine(**machine)
        self.assertEqual(report["gpus"]["links"], links)
        self.assertFalse([p for p in self.problems(report) if "NVLink" in p],
                         report["findings"])  # 70 of 80 GB/s
        slow = [p for p in self.problems(report) if re.search(r"\b(48|63) GB/s", p)]
        self.assertEqual(slow, [], "48 of the 63 GB/s of PCIe 5 x16")
        after = plan()
        self.assertNotEqual(before["links"]["sum_bytes_per_s"], 3e11)
        self.assertEqual(after["links"]["sum_bytes_per_s"], 3e11)
        self.assertLess(after["time"]["step_ms"], before["time"]["step_ms"],
                        "3 NVLinks of 27 GB/s, and sums that were measured to be faster")
        worker.write_text(
            f"#!/bin/sh\n[ \"$1\" = --measure-links ] && {{ echo no such thing >&2; exit 69; }} || exec {plain} \"$@\"\n"
        )
        self.assertIn("no such thing", self.examine(**machine)["gpus"]["unread"]["links"])

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a GPU")
    def test_how_fast_the_host_updates_is_measured_once_by_whoever_needs_it_first(self):
        machine = {
            "LD_LIBRARY_PATH": self.fake_nvml(), "XDG_CACHE_HOME": str(self.folder / "cache"),
            "CUDA_VISIBLE_DEVICES": "0"
        }
        recipe = self.recipe(
            "model: {type: gpt2, size: 124m}\nbatch: {global_batch_size: 8}\nrun: {device: gpu}\nparallel: {world_size: 1}\nprecision: {compute: bf16}\nmemory: {optimizer_offload: cpu}\n"
        )
        kept = self.folder / "cache" / "trainx" / "host_updates.json"
        plan = lambda *more: [
            line for line in self.run_trainx("plan", recipe, *more, env=self.environment(**machine))
            .stdout.splitlines() if re.search(r" ms at \S+ [KMG]iB/s", line)
        ]
        self.assertEqual(plan("memory.optimizer_offload=none"), [])
        self.assertFalse(kept.exists(), "nothing is measured that nobody needs")
        first = plan()
        self.assertEqual(len(first), 1)
        told = json.loads(kept.read_text())
        self.assertEqual(plan(), first)
        self.assertEqual(json.loads(kept.read_text()), told)
        kept.write_text("{")
        self.assertEqual(len(plan()), 1)
        self.assertEqual(json.loads(kept.read_text())["state"], told["state"])
        measured = self.examine(**machine)["memory_bandwidth"]
        self.assertEqual(
            json.loads(kept.read_text()),
            {"state": told["state"], "bytes_per_second": measured["in_place_bytes_per_second"]})

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a GPU")
    def test_memory_that_is_broken_has_a_remedy(self):
        report = self.examine(LD_LIBRARY_PATH=self.fake_nvml("-DBROKEN_MEMORY"))
        first, second = report["gpus"]["gpus"]
        self.assertEqual((first["ecc_uncorrected"], second["ecc_uncorrected"]), (2, 0))
        self.assertEqual((first["row_remap_pending"], second["row_remap_pending"]), (False, True))
        remedies = {
            name: f["remedy"]
            for f in report["findings"]
            for name in ("GPU 0", "GPU 1")
            if name in f["problem"] and "memory" in f["problem"]
        }
        self.assertEqual(set(remedies), {"GPU 0", "GPU 1"})
        self.assertTrue(all("nvidia-smi -r" in remedy for remedy in remedies.values()), remedies)

    def test_of_a_gpu_without_ecc_nothing_of_it_is_told(self):
        environment = self.environment(LD_LIBRARY_PATH=self.fake_nvml("-DNO_ECC"))
        done = self.run_trainx("doctor", "--json", env=environment)
        for gpu in json.loads(done.stdout)["gpus"]["gpus"]:
            self.assertFalse([key for key in gpu if "ecc" in key or "row" in key], gpu)
        self.assertNotIn("ECC", self.run_trainx("doctor", env=environment).stdout)

    def test_a_gpu_that_is_lost_is_named(self):
        report = self.examine(LD_LIBRARY_PATH=self.fake_nvml("-DLOST"))
        self.assertEqual(len(report["gpus"]["gpus"]), 1)
        self.assertEqual([gpu["index"] for gpu in report["gpus"]["lost"]], [1])
        (problem,) = [p for p in self.problems(report) if "GPU 1" in p]
        self.check_sentence("doctor.gpu/lost", problem)

    def test_an_nvml_that_does_not_begin_says_why(self):
        report = self.examine(LD_LIBRARY_PATH=self.fake_nvml("-DMISMATCH"))
        self.assertIn("Driver/library version mismatch", report["gpus"]["driver_problem"])
        self.check_sentence("doctor.nvml_mismatch", report["gpus"]["driver_problem"])


if __name__ == "__main__":
    main()
