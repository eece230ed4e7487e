"""A worker is killed at the nth call that touches the run's folder, or the call fails; then the same
command again. With --long every n."""
import errno
import pathlib
import subprocess
import time

from faults import VARIANTS

NAME = "kills and errors at calls"
ERRORS = (0, 0, 0, errno.ENOSPC, errno.EIO, errno.EINTR, errno.EMFILE)      # 0: killed


class Shim:
    def __init__(self, bench):
        self.bench, self.library = bench, bench.scratch / "nth_call.so"
        source = pathlib.Path(__file__).with_name("nth_call.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", self.library, source, "-ldl"],
                       check=True)

    def start(self, variant, nth, error):
        once, log = self.bench.scratch / "once", self.bench.scratch / "calls"
        once.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        return self.bench.start(*self.bench.train("hurt", variant), env={
            "LD_PRELOAD": str(self.library), "NTH": str(nth), "NTH_ERROR": str(error),
            "NTH_PROGRAM": "trainx-worker", "NTH_BELOW": "outputs/hurt", "NTH_LOG": str(log),
            "NTH_ONCE": str(once)})

    def calls(self, variant):
        """{number: call} of a run that is let be; of several ranks those of the busiest."""
        self.bench.remove("hurt")
        if self.start(variant, 0, 0).end() != 0:
            raise RuntimeError(f"{variant}: the run fails under the shim")
        lines = (self.bench.scratch / "calls").read_text().splitlines()
        return {int(number): call for number, call in (line.split(" ", 1) for line in lines)}


def run(bench, tally):
    shim = Shim(bench)
    calls = {variant: shim.calls(variant) for variant in VARIANTS}
    points = [(variant, nth) for variant in VARIANTS for nth in calls[variant]]
    bench.random.shuffle(points)
    for _ in bench.rounds(tally):
        if not points:
            break
        variant, nth = points.pop()
        errors = sorted(set(ERRORS)) if bench.every_case else [bench.random.choice(ERRORS)]
        for error in errors:
            tally.rounds += 1
            hurt(bench, tally, shim, variant, nth, error, calls[variant][nth])


def hurt(bench, tally, shim, variant, nth, error, call):
    what = f"{variant}, {errno.errorcode.get(error, 'kill')} at call {nth} ({call})"
    bench.remove("hurt")
    process, began = shim.start(variant, nth, error), time.monotonic()
    code = process.end()
    tally.worst = max(tally.worst, time.monotonic() - began)
    bench.check_nobody_left(tally, what)
    if code is None:
        tally.add("hung", f"{what}: no end")
    if error and code is not None and (code == 1 or code < 0 or code > 128):
        tally.add("wrong", f"{what}: exit code {code}: {process.words()}")
    bench.check_kept(tally, "hurt", process.saved(), what)
    bench.check_goes_on(tally, "hurt", variant, what)
