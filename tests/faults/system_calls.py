"""A worker is killed at the nth call that touches the run's folder, or the call fails; then the same
command again. With --long every call of a save, in each way; of the others each in one."""
import errno
import subprocess
import time
from pathlib import Path

from faults import LIMIT, VARIANTS

NAME = "kills and errors at calls"
LONG = None                             # every case
SHORT = -1                              # a write writes half of its bytes
ERRORS = {0: "kill", errno.ENOSPC: "ENOSPC", errno.EIO: "EIO", errno.EINTR: "EINTR",
          errno.EMFILE: "EMFILE", SHORT: "short write"}
WEIGHTS = (3, 1, 1, 1, 1, 1)
SAVE = "checkpoint-4"                   # the second one: it replaces another
AFTER = "checkpoint-6"


def build(bench, name):
    """A library of tests/faults that is preloaded."""
    library = bench.scratch / f"{name}.so"
    if not library.exists():
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-O1", "-o", library, source, "-ldl"],
                       check=True)
    return library


class Shim:
    def __init__(self, bench):
        self.bench, self.library = bench, build(bench, "nth_call")

    def start(self, variant, nth, error, *settings, on=False):
        """on: every call from the nth on."""
        count, log = self.bench.scratch / "count", self.bench.scratch / "calls"
        count.write_bytes(bytes(4))
        log.unlink(missing_ok=True)
        return self.bench.start(*self.bench.train("hurt", variant, *settings), env={
            "LD_PRELOAD": str(self.library), "NTH": str(nth), "NTH_ERROR": str(error),
            "NTH_PROGRAM": "trainx-worker", "NTH_BELOW": "outputs/hurt", "NTH_LOG": str(log),
            "NTH_COUNT": str(count), **({"NTH_ALL": "1"} if on else {})})

    def calls(self, variant):
        """{number: call} of a run that is let be; of several ranks those of all."""
        self.bench.remove("hurt")
        whole = self.start(variant, 0, 0)
        if (code := whole.end(2 * LIMIT)) != 0:
            raise RuntimeError(f"{variant}: under the shim the run ends with {code}: "
                               f"{whole.words()}")
        lines = (self.bench.scratch / "calls").read_text().splitlines()
        return {int(number): call for number, call in (line.split(" ", 1) for line in lines)}


def first(calls, name):
    return min(number for number, call in calls.items() if name in call)


def of_a_save(calls):
    """The numbers from the first call on a checkpoint to the first on the next."""
    return range(first(calls, SAVE), first(calls, AFTER))


def of_other_saves(calls):
    last = max(number for number, call in calls.items() if "/.checkpoint-" in call)
    return range(first(calls, "/.checkpoint-"), last)


def run(bench, tally):
    shim = Shim(bench)
    calls = {variant: shim.calls(variant) for variant in VARIANTS}
    points = []
    for variant, numbered in calls.items():
        save, others = of_a_save(numbered), of_other_saves(numbered)
        for nth in numbered:
            ways = bench.random.choices(list(ERRORS), WEIGHTS)
            if bench.size.every_case and nth in others:
                ways = ERRORS if nth in save else ()
            points += [(variant, nth, error) for error in ways]
    if bench.size.every_case:
        points = bench.size.share(points)
    bench.random.shuffle(points)
    for _ in bench.rounds(tally):
        if not points:
            break
        variant, nth, error = points.pop()
        if error != SHORT or "write" in calls[variant][nth].split(" ")[0]:
            tally.rounds += 1
            hurt(bench, tally, shim, variant, nth, error, calls[variant][nth])


def hurt(bench, tally, shim, variant, nth, error, call):
    what = f"{variant}, {ERRORS[error]} at call {nth} ({call})"
    bench.remove("hurt")
    process, began = shim.start(variant, nth, error), time.monotonic()
    code = process.end()
    tally.worst = max(tally.worst, time.monotonic() - began)
    bench.check_nobody_left(tally, what)
    if code is None:
        tally.add("hung", f"{what}: no end")
    if error and code is not None and (code == 1 or code < 0 or code > 128):
        tally.add("wrong", f"{what}: exit code {code}: {process.words()}")
    if error in (errno.EINTR, SHORT) and code != 0:
        tally.add("wrong", f"{what}: is no error, and ends the run with {code}")
    bench.check_kept(tally, "hurt", process.saved(), what)
    bench.check_goes_on(tally, "hurt", variant, what)
