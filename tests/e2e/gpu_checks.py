"""What tests of models on a GPU share: which GPUs they need, how they may be cut into processes,
and how near losses and memory come to what is wanted."""
import functools
import json
import math
import os
import shutil
import subprocess
import unittest

NO_GPU = "no GPU on this machine"       # tests/gpu_run/pool.py knows these words


def listed_gpus():
    if not shutil.which("nvidia-smi"):
        return []
    told = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return told.stdout.splitlines() if told.returncode == 0 else []


@functools.cache
def visible_gpus():
    """Names, for CUDA_VISIBLE_DEVICES, of those that a program may see."""
    listed = listed_gpus()
    if listed and "CUDA_VISIBLE_DEVICES" in os.environ:
        return [name for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if name]
    return [str(number) for number in range(len(listed))]


def needs_gpus(count, most=None):
    """Marks a test, or all of a class, whose commands see the first `most` GPUs (`count`); skips it
    where there are fewer than `count`."""
    words = {1: NO_GPU, 2: "takes two GPUs", 4: "takes four GPUs"}[count]
    skip = unittest.skipIf(len(visible_gpus()) < count, words)

    def mark(test):
        test.gpus = most or count
        return skip(test)
    return mark


@functools.cache
def compute_capability():
    """9.0 of the first GPU; 0 without one."""
    if not visible_gpus():
        return 0
    told = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                          capture_output=True, text=True, check=True)
    return float(told.stdout.split()[0])


def needs_capability(least, below=math.inf):
    """Skips a test, or all of a class, on other GPUs."""
    words = f"takes a GPU of compute capability {least}"
    return unittest.skipUnless(least <= compute_capability() < below,
                               words if visible_gpus() else NO_GPU)


def alone(why):
    """Marks a test, or all of a class, beside which nothing else may use the GPU."""
    def mark(test):
        test.alone = why
        return test
    return mark


def in_parts(count):
    """Marks a test whose cases (part_of) scripts/gpu_tests cuts into so many processes."""
    def mark(test):
        test.parts = count
        return test
    return mark


def part_of(cases):
    """Those of the part TRAINX_TEST_PART, K/N; all without it."""
    part, count = map(int, os.environ.get("TRAINX_TEST_PART", "1/1").split("/"))
    chosen = list(cases)[part - 1::count]
    assert chosen, f"part {part} of {count} has no case"
    return chosen


# Of losses: rounding grows with every update, so that those of 16 bits are compared for ten steps.
TOLERANCE = {"fp32": (5e-5, 20), "tf32": (1e-2, 10), "bf16": (4e-2, 10)}
MEMORY = 0.05               # of a process, from what was planned
CLEAR = 1e-4                # a logit that far above the next one is not chosen by rounding


class GpuChecks:
    """Beside support.Trainx."""

    def check_gpu_losses(self, run, got, want, precision, least=0, routed=False):
        """`least`: what a loss that falls towards 0 is compared with, for its rounding does not.
        `routed`: by routers, whose choices turn on rounding after fewer steps."""
        tolerance, steps = TOLERANCE[precision]
        if routed and precision != "fp32":
            steps = 5
        self.assertEqual(len(got), 20)
        self.assertTrue(all(map(math.isfinite, got)), got)
        apart = [abs(g - w) / max(w, least) for g, w in zip(got, want)]
        worst = max(apart[:steps])
        print(f"  {run}: largest relative difference of losses {worst:.1e}")
        if worst >= tolerance:
            print("   by step:", *(f"{x:.1e}" for x in apart))
        self.assertLess(worst, tolerance)

    def check_memory(self, run):
        planned = json.loads((self.folder / "outputs" / run / "plan.json").read_text())
        found = self.metrics(run)[-1]["device_memory_bytes"]
        print(f"  {run}: {found} bytes, planned {planned['total_bytes']}")
        self.assertLess(abs(found / planned["total_bytes"] - 1), MEMORY, run)
