"""One contestant of bench/drive: a process that speaks the protocol, and how long it is waited for."""
import contextlib
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import time

import nvml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHES = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


quiet = False


def say(text):
    if not quiet:
        print(text, file=sys.stderr, flush=True)


class Failed(Exception):
    """A contestant cannot go on; what it said is recorded."""


class Late(Failed):
    """Not its fault: the time that the driver was given is over."""


class Contestant:
    """A process that speaks the protocol. Its stderr and what else it prints go to `log`. `loads_ahead`: it can load itself and wait, the GPU untouched.
    `ranks`: how many GPUs it sees. `environment`: variables that it has beside the driver's."""

    def __init__(self, name, command, log, *, loads_ahead=False, ranks=1, environment=None):
        self.name, self.command, self.log, self.loads_ahead, self.ranks, self.environment = name, command, log, loads_ahead, ranks, environment or {}
        self.ready, self.done, self.calibration, self.rounds = {}, {}, [], []
        self.failure = self.ready_seconds = self.device_memory = self.process = self.same_as = self.plan = None
        self.interleaved, self.loaded, self.stopped, self.buffer, self.errors = True, False, False, b"", open(log, "wb")

    def spawn(self, caches):
        """`caches`: a folder in place of the user's caches, or None."""
        environment = {**os.environ, **self.environment}
        if nvml.visible() is not None:                                  # no more than its own: the Trainer would split its batches over all that it sees
            environment["CUDA_VISIBLE_DEVICES"] = nvml.visible(self.ranks)
        for name in CACHES if caches else ():
            environment[name] = str(caches / name.lower())
            os.makedirs(environment[name], exist_ok=True)
        command = [*self.command, "--wait"] if self.loads_ahead else self.command
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, process_group=0)

    def load(self, deadline):
        """Of one that loads ahead: it is spawned, and waits for `begin`."""
        if not self.loaded:
            self.expect("loaded", deadline)
        self.loaded = True

    def start(self, gpu, caches, deadline):
        if self.process is None:
            self.spawn(caches)
        if self.loads_ahead:
            self.load(deadline)
        used, began = gpu.used_bytes(), time.monotonic()
        if self.loads_ahead:
            self._tell("begin\n")
        self.ready = self.expect("ready", deadline)
        self.ready_seconds = time.monotonic() - began
        if used is not None and gpu.used_bytes() is not None:           # everybody else is at rest meanwhile: what comes on top is its own
            self.device_memory = gpu.used_bytes() - used

    def go(self, steps, deadline):
        self._tell(f"go {steps}\n")
        got = self.expect("round", deadline)
        if got.get("steps") != steps or not got.get("seconds", 0) > 0:
            raise Failed(f"was told to run {steps} steps and answered {json.dumps(got)}")
        return got

    def finish(self, deadline):
        self.process.stdin.close()
        self.done = self.expect("done", deadline)

    def end(self):
        """After `finish`: that it ended well."""
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failed("said that it is done, and did not end within a minute")
        if code != 0:
            raise Failed(f"exited with {code} after it was done")
        loss = self.done.get("loss")
        if not isinstance(loss, (int, float)) or not math.isfinite(loss):
            raise Failed(f"its loss is {loss}")

    def expect(self, event, deadline):
        """The next line of the protocol; other lines go to the log."""
        while True:
            line = self._line(event, deadline)
            try:
                got = json.loads(line)
            except ValueError:
                got = None
            if not isinstance(got, dict) or "event" not in got:
                self.errors.write(line + b"\n")
                self.errors.flush()
            elif got.pop("event") == event:
                return got
            else:
                raise Failed(f"`{event}` was expected, and it said {line.decode(errors='replace')}")

    def _line(self, event, deadline):
        stream = self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                left = deadline.left()
                if left <= 0 or not selector.select(left):
                    raise deadline.over(f"waited {deadline.patience:.0f} s for `{event}`")
                more = os.read(stream.fileno(), 65536)
                if not more:
                    code = self.process.wait()
                    raise Failed((f"killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}") + f" before `{event}`")
                self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def _tell(self, text):
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"exited with {self.process.wait()} while it was waited for")

    def fail(self, why):
        self.stop()
        lines = [l for l in self.log.read_text(errors="replace").splitlines() if l.strip()]
        late, code = isinstance(why, Late), self.process.returncode if self.process else None
        memory = code == 71 or re.search(r"out of (\w+ )?memory|OutOfMemory", "\n".join(lines[-100:]), re.I) is not None     # 71: trainx's own
        self.failure = {"why": str(why), "exit_code": code, "late": late, "out_of_memory": memory and not late, "stderr": lines[-15:]}
        say(f"  {self.name}: {'out of memory, ' if self.failure['out_of_memory'] else ''}{why} (see {self.log})")

    def stop(self):
        """Ends it and the processes that it started, whatever state they are in."""
        self.errors.close()
        if self.process is None or self.stopped:
            return
        self.stopped = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


class Deadline:
    """The earlier of a contestant's patience and the driver's limit."""

    def __init__(self, patience, end):
        self.patience, self.end, self.until = patience, end, time.monotonic() + patience

    def left(self):
        return min(self.until, self.end) - time.monotonic()

    def over(self, why):
        return Late("the time given with --limit was over") if self.end < self.until else Failed(why)
