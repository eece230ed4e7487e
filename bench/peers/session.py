"""The contestants' protocol (bench/drive says what for), for any loop of training steps in torch.

The loop calls `after_step()` after each step and ends when it answers false. The session does the rest: the first step's time, warm-up, `ready`,
a round for each `go N` on stdin with the device synchronised before and after, `done` at the end of stdin. One JSON object a line on stdout.
"""
import json
import math
import os
import platform
import sys
import time

import nvml

BEGAN = time.monotonic()


def seconds_since_process_start():
    """With the interpreter's start and all imports; where /proc does not tell, since this module was imported."""
    imported = time.monotonic() - BEGAN
    try:
        with open("/proc/self/stat") as f:
            ticks = int(f.read().rpartition(")")[2].split()[19])       # field 22, starttime, in ticks since boot
        whole = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return imported
    return whole if imported <= whole < imported + 600 else imported


class Session:
    def __init__(self, device, warm_up_steps, warm_up_seconds, *, ranks=None, **facts):
        """`device`: a torch.device. `ranks`: of several processes a group of torch.distributed over the host (gloo). `facts` stand in the last line as they are."""
        import torch
        self.torch, self.device, self.facts = torch, device, facts
        self.ranks, self.rank = ranks, torch.distributed.get_rank() if ranks is not None else 0
        self.warm_up_steps, self.warm_up_seconds = warm_up_steps, warm_up_seconds
        self.out = os.fdopen(os.dup(1), "w")                            # what libraries print goes to stderr: stdout is the protocol's
        os.dup2(2, 1)
        self.steps = self.left = 0
        self.waited_seconds = 0.0
        self.first_step_seconds = self.warm_since = self.device_memory = self.warm_up_peak = None
        self.ready = False

    def wait_to_begin(self):
        """All is loaded, the GPU untouched; others may be measured until the driver says `begin`."""
        since = time.monotonic()
        self.say("loaded")
        if sys.stdin.readline().strip() != "begin":
            raise SystemExit("`begin` was expected")
        self.waited_seconds = time.monotonic() - since

    def agreed(self, value):
        """What rank 0 says, on all ranks: it alone talks with the driver."""
        if self.ranks is None:
            return value
        told = [value]
        self.torch.distributed.broadcast_object_list(told, src=0, group=self.ranks)
        return told[0]

    def say(self, event, **what):
        if self.rank > 0:
            return
        self.out.write(json.dumps({"event": event, **what}) + "\n")
        self.out.flush()

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def after_step(self):
        """False when stdin has ended."""
        self.steps += 1
        if not self.ready:
            return self._after_warm_up_step()
        self.left -= 1
        return True if self.left else self._finish_round()

    def _after_warm_up_step(self):
        self.synchronize()
        now = time.monotonic()
        if self.first_step_seconds is None:
            self.first_step_seconds, self.warm_since = seconds_since_process_start() - self.waited_seconds, now
        if self.agreed(self.steps < self.warm_up_steps or now - self.warm_since < self.warm_up_seconds):
            return True
        self.ready, cuda, which = True, self.torch.cuda, None
        if self.device.type == "cuda":
            free, total = cuda.mem_get_info(self.device)
            self.device_memory = total - free                           # everybody's; bench/drive tells contestants apart
            self.warm_up_peak = cuda.max_memory_allocated(self.device)  # compiling and tuning may take more for a while: steady training counts
            cuda.reset_peak_memory_stats(self.device)
            which = "GPU-" + str(cuda.get_device_properties(self.device).uuid).removeprefix("GPU-")
        self.gpu = nvml.Device(which)                                   # now, for it may take a second, which is not the first step's
        self.say("ready", first_step_seconds=self.first_step_seconds, warm_up_steps=self.steps)
        return self._wait()

    def _wait(self):
        line = self.agreed(sys.stdin.readline() if self.rank == 0 else None)
        if not line.strip():
            return False
        word, _, count = line.strip().partition(" ")
        if word != "go" or not count.isdigit() or int(count) < 1:
            raise SystemExit(f"not understood: {line!r}; `go N` or the end of stdin was expected")
        self.left = self.round = int(count)
        self.synchronize()
        self.joules, self.since = self.gpu.joules(), time.perf_counter()
        return True

    def _finish_round(self):
        self.synchronize()
        seconds, joules = time.perf_counter() - self.since, self.gpu.joules()
        self.say("round", steps=self.round, seconds=seconds, joules=None if None in (joules, self.joules) else joules - self.joules)
        return self._wait()

    def done(self, loss):
        """The last line. `loss`: of the last step, a tensor or a number."""
        loss, cuda, torch = float(loss), self.device.type == "cuda", self.torch
        if not math.isfinite(loss):
            raise SystemExit(f"the loss is not finite after {self.steps} steps: {loss}")
        versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda}
        if cuda:
            versions |= {"cudnn": torch.backends.cudnn.version(), "driver": self.gpu.driver_version()}
        if "transformers" in sys.modules:
            versions["transformers"] = sys.modules["transformers"].__version__
        self.say("done", machine=torch.cuda.get_device_name(self.device) if cuda else platform.processor() or platform.machine(), versions=versions,
                 peak_memory_bytes=torch.cuda.max_memory_allocated(self.device) if cuda else None,
                 peak_reserved_bytes=torch.cuda.max_memory_reserved(self.device) if cuda else None,
                 warm_up_peak_memory_bytes=self.warm_up_peak, device_memory_bytes=self.device_memory, steps=self.steps, loss=loss, **self.facts)


def add_arguments(parser):
    """What every contestant in torch takes."""
    parser.add_argument("--micro-batch", type=int, required=True, help="samples of a forward; of a step where nothing is accumulated")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--warm-up-steps", type=int, default=10)
    parser.add_argument("--warm-up-seconds", type=float, default=2.0)


def device_of(name):
    import torch
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name, 0) if name == "cuda" else torch.device(name)


def ranks_of(device):
    """Under torchrun: this rank's own device, a group over the host for Session, and the number of ranks; torch.distributed is ready then. Else the device, None and 1."""
    import torch
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world == 1:
        return device, None, 1
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", device_id=device if device.type == "cuda" else None)
    return device, torch.distributed.new_group(backend="gloo"), world
