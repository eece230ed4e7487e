"""Faults of a GPU (tests/faults/gpu_faults.py) on one that computes nothing (fake_gpu.py): kills in
each phase, memory that is refused, a device that is lost, a full disk, ECC's counters."""
import json
import subprocess
import sys
import unittest

import fake_gpu
from support import ROOT, TRAINX, Trainx, main, sampled

sys.path.insert(0, str(ROOT / "tests" / "faults"))
import faults  # noqa: E402
import gpu_bench  # noqa: E402
import gpu_faults  # noqa: E402

BUILT = json.loads(subprocess.run([TRAINX, "version", "--json"], capture_output=True,
                                  text=True).stdout or "{}").get("cuda")
WHY_NOT = fake_gpu.why_not() or ("" if BUILT else "built without CUDA")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class LostDevice(Trainx):
    def setUp(self):
        super().setUp()
        libraries = self.folder / "libraries"
        libraries.mkdir()
        self.stand_in = fake_gpu.build(libraries)
        self.bench = faults.Bench(TRAINX, self.folder, self.seed, faults.Size(0), {})
        self.gpu = gpu_bench.GpuBench(self.bench, self.stand_in)
        self.addCleanup(self.bench.kill_all)

    @sampled
    def test_nothing_is_lost(self):
        for kind in self.drawn(gpu_faults.KINDS, few=2):
            with self.subTest(kind=kind):
                tally = faults.Tally(kind)
                gpu_faults.KINDS[kind](self.gpu, tally)
                print(f"  {kind}: {tally.rounds} rounds")
                self.assertGreater(tally.rounds, 0)
                self.assertEqual(tally.found, [])

    def lost(self, fault, call, *settings):
        """What a run says of which a call fails."""
        process = self.gpu.hurt("lost", "fp32", *settings, **self.gpu.fault(fault, call))
        self.assertEqual(process.end(), 69, process.told())
        self.bench.remove("lost")
        (error,) = process.events("error")
        self.assertEqual(error["exit_code"], 69)
        return error["message"]

    def test_the_sentences(self):
        self.check_sentence("lost_device.hardware", self.lost("lost:214", "cudaGraphLaunch.0 5"))
        self.check_sentence("lost_device.kernel", self.lost("lost:700", "cudaGraphLaunch.0 5"))
        # of evaluation, whose batches are no steps
        self.check_sentence("lost_device.evaluation",
                            self.lost("lost:719", "cudaGraphLaunch.1 2"))
        self.check_sentence("lost_device.busy", self.lost("46", "cudaSetDevice 1"))

    def test_an_error_of_another_call_is_not_the_devices(self):
        told = self.lost("1", "cudaGraphInstantiate 1")
        self.assertNotIn("failed", told)
        self.assertIn("CUDA error 1", told)

    def test_an_instruction_is_named_only_where_each_is_waited_for(self):
        fault = ("lost:700", "cudaGetLastError 400", "run.execution=eager")
        told = self.lost(*fault)
        self.assertRegex(told, r"\bsteps? \d+\b")
        self.assertNotIn("(in ", told)
        self.bench.environment["CUDA_LAUNCH_BLOCKING"] = "1"
        self.assertRegex(self.lost(*fault), r"\(in [a-z_]+ \S+.*\)$")

    def test_memory_that_is_refused(self):
        process = self.gpu.hurt("refused", "fp32", **self.gpu.fault("2", "cudaHostAlloc 1"))
        self.assertEqual(process.end(), 71, process.told())
        process = self.gpu.hurt("refused", "fp32", **self.gpu.fault("2", "cudaSetDevice 1"))
        self.assertEqual(process.end(), 71, process.told())


if __name__ == "__main__":
    main()
