"""What tests of models on a GPU share: where there is one, and how near its losses and its memory
come to what is wanted."""
import json
import math
import os
import shutil
import subprocess

GPU = (shutil.which("nvidia-smi") and
       subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0)


def visible_gpus():
    """Names, for CUDA_VISIBLE_DEVICES, of those that a program may see."""
    if not GPU:
        return []
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [name for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if name]
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    return [str(number) for number in range(len(listed.splitlines()))]


COUNT = len(visible_gpus())
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
