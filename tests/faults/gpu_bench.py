"""What faults of a GPU need beside faults.py: a small run on the GPU, libraries that fail its
calls, a process that holds its memory, and how much of that is in use."""
import ctypes
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import time

from faults import UNHURT_LIMIT

FOLDER = pathlib.Path(__file__).parent
RECIPE = """\
run: {name: whole, seed: 3, duration: 24 steps, deterministic: true, device: gpu}
model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 128, max_positions: 64}}
data: {type: stories, sequence_length: 64, samples: 512, eval_samples: 40}
batch: {global_batch_size: 8, micro_batch_size: 4}
optimizer: {type: adamw, lr: 0.01}
schedule: {type: constant, warmup: 2 steps}
checkpoint: {every: 4 steps, keep_last: 1}
eval: {every: 4 steps}
metrics: {every: 1 steps}
"""
VARIANTS = {
    "fp32": ["precision=fp32", "checkpoint.asynchronous=false"],
    "fp32, asynchronous": ["precision=fp32", "checkpoint.asynchronous=true"],
    "bf16": ["precision=bf16", "checkpoint.asynchronous=false"],
    "bf16, asynchronous": ["precision=bf16", "checkpoint.asynchronous=true"],
}
WORKER = "trainx-worker"
DEVICE = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"        # the GPU of runs


def has_gpu():
    return bool(shutil.which("nvidia-smi")) and subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True).returncode == 0


def used_bytes():
    """Of the GPU's memory, by all processes."""
    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]
    nvml, device, memory = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Memory()
    for name, *args in (("nvmlInit_v2",),
                        ("nvmlDeviceGetHandleByIndex_v2", int(DEVICE), ctypes.byref(device)),
                        ("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)),
                        ("nvmlShutdown",)):
        if code := getattr(nvml, name)(*args):
            raise RuntimeError(f"{name}: {code}")
    return memory.used


def comes_free(before, seconds=10, slack=64 << 20):
    """Whether no more memory is in use than before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if used_bytes() <= before + slack:
            return True
        time.sleep(0.1)
    return False


class Holder:
    """A process that holds all but `left` MiB of the GPU's memory, for a `with`."""
    def __init__(self, left):
        self.left = left

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, FOLDER / "hold_gpu_memory.py", str(self.left)],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": DEVICE},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.free = self.process.stdout.readline().strip()
        if not self.free:
            self.process.wait()
            raise RuntimeError("the GPU's memory cannot be held")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class GpuBench:
    """A faults.Bench whose runs are on the GPU, and what hurts them. `stand_in`: the environment of
    one that computes nothing; no kernel fails there, and nobody holds its memory."""
    def __init__(self, bench, stand_in=None):
        self.bench, self.is_real = bench, stand_in is None
        bench.environment["CUDA_VISIBLE_DEVICES"] = DEVICE
        bench.environment.update(stand_in or {})
        recipe = bench.scratch / "gpu.yaml"
        recipe.write_text(RECIPE)
        self.variants = [v for v in VARIANTS if self.is_real or "bf16" not in v]
        degraded = [] if self.is_real else ["--allow-degraded"]
        bench.train = lambda run, variant, *settings: [
            "train", recipe, "--json", f"run.name={run}", *degraded, *VARIANTS[variant],
            *settings]
        self.libraries = {name: self.build(name) for name in ("cuda_faults", "ecc_counters",
                                                              "nth_call")}
        self.image = self.build_image()

    def build(self, name):
        library = self.bench.scratch / f"{name}.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, FOLDER / f"{name}.c",
                        "-ldl", "-lpthread"], check=True)
        return library

    def build_image(self):
        """The kernels that fail: compiled where there is ptxas, else by the driver."""
        source, image = FOLDER / "lost_device.ptx", self.bench.scratch / "lost_device.cubin"
        ptxas = shutil.which("ptxas") or next(iter(glob.glob("/usr/local/cuda*/bin/ptxas")), None)
        if ptxas and subprocess.run([ptxas, "-arch", "sm_90", source, "-o", image]).returncode == 0:
            return image
        return source

    def fault(self, what="", call="", log=None):
        """Environment under which the call (name and number) is hurt once."""
        once = self.bench.scratch / "once"
        once.unlink(missing_ok=True)
        env = {"LD_PRELOAD": str(self.libraries["cuda_faults"]), "CUDA_FAULT_PROGRAM": WORKER,
               "CUDA_FAULT_IMAGE": str(self.image), "CUDA_FAULT_ONCE": str(once),
               "CUDA_FAULT": what, "CUDA_FAULT_CALL": call}
        return env | ({"CUDA_FAULT_LOG": str(log)} if log else {})

    def variant(self):
        return self.bench.random.choice(self.variants)

    def hurt(self, run, variant, *settings, **env):
        return self.bench.start(*self.bench.train(run, variant, *settings), env=env)

    def calls(self, variant):
        """{name: how often it is called} in a run that is let be."""
        log = self.bench.scratch / "cuda_calls"
        log.unlink(missing_ok=True)
        self.bench.remove("hurt")
        process = self.hurt("hurt", variant, **self.fault(log=log))
        if (code := process.end(UNHURT_LIMIT)) != 0:
            raise RuntimeError(f"{variant}: the run fails under the shim: {code}: "
                               f"{process.words()}")
        counts = {}
        for line in log.read_text().splitlines():
            name, number = line.rsplit(" ", 1)
            counts[name] = max(counts.get(name, 0), int(number))
        return counts
