"""Faults of a GPU (tests/faults/gpu_faults.py): a sentence each, and a resume that ends as the run
that nobody hurt."""
import sys

from gpu_checks import alone, needs_gpus
from support import ROOT, TRAINX, Trainx, main

sys.path.insert(0, str(ROOT / "tests" / "faults"))
import faults  # noqa: E402
import gpu_bench  # noqa: E402
import gpu_faults  # noqa: E402


class Told(faults.Tally):
    """Prints what it counts, for a test that is ended before its time."""
    def add(self, kind, what):
        super().add(kind, what)
        print(f"  {self.found[-1]}", flush=True)


@needs_gpus(1)
class FaultsOfAGpu(Trainx):
    on_gpu = True

    def hurt(self, kind):
        """Every case of a kind once; nothing may be lost, wrong, silent or hung."""
        bench = faults.Bench(TRAINX, self.folder, self.seed, faults.Size(0), {})
        self.addCleanup(bench.kill_all)
        tally = Told(kind)
        gpu_faults.KINDS[kind](gpu_bench.GpuBench(bench), tally)
        print(f"  {kind}: {tally.rounds} rounds, worst time to end {tally.worst:.1f} s")
        self.assertGreater(tally.rounds, 0)
        self.assertEqual(tally.found, [])

    def test_kills(self):
        self.hurt("kills")

    def test_kills_in_saves(self):
        self.hurt("kills_in_saves")

    def test_restarts(self):
        self.hurt("restarts")

    @alone("holds all memory of the GPU")
    def test_allocations(self):
        self.hurt("allocations")

    def test_losses(self):
        self.hurt("losses")

    def test_disks(self):
        self.hurt("disks")

    def test_ecc(self):
        self.hurt("ecc")


if __name__ == "__main__":
    main()
