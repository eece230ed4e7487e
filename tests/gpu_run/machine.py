"""The GPUs of this machine, and versions of what tests compare with."""
import ctypes
import importlib.util
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys


def gpus():
    """[(name, driver)] of the GPUs that a program may see."""
    if not shutil.which("nvidia-smi"):
        return []
    told = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                           "--format=csv,noheader"], capture_output=True, text=True)
    found = [tuple(line.split(", ")) for line in told.stdout.splitlines()]
    if told.returncode != 0 or any(len(gpu) != 2 for gpu in found):
        return []
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return found[:len(names(0))]
    return found


def names(count):
    """For CUDA_VISIBLE_DEVICES, of all `count` GPUs of the machine, or those that it names now."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return [str(number) for number in range(count)]
    return [name for name in asked.split(",") if name]


def folder_of(gpu):
    """'h200' for 'NVIDIA H200': its folder in bench/results."""
    words = re.split(r"[\s-]+", gpu.lower())
    return next((w for w in words if re.fullmatch(r"[a-z]*\d+[a-z]*", w)), words[-1])


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not there"


def reference_python():
    """The Python that tests compare with; empty if none has torch and transformers."""
    if asked := os.environ.get("TRAINX_REFERENCE_PYTHON"):
        return asked
    found = all(map(importlib.util.find_spec, ("torch", "transformers")))
    return sys.executable if found else ""


def lists_processes():
    """Whether the driver lists the processes that use a GPU. In some containers it does not: there
    trainx reads the memory that all processes take, so that no two tests may run side by side."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    return done.stdout.strip() == "listed"


class Process(ctypes.Structure):        # nvmlProcessInfo_t
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


def is_listed():
    cuda, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
    context, device, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint(256)
    processes = (Process * count.value)()
    for library, name, *args in (
            (cuda, "cuInit", 0),
            (cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0),
            (nvml, "nvmlInit_v2"),
            (nvml, "nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device)),
            (nvml, "nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count),
             processes)):
        if code := getattr(library, name)(*args):
            raise RuntimeError(f"{name}: {code}")
    return os.getpid() in [p.pid for p in processes[:count.value]]


if __name__ == "__main__":
    print("listed" if is_listed() else "hidden")
