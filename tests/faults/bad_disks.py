"""The disk of a run fills, has no inodes left or fails for good after a resume, or the run's folder
vanishes; then the disk is well again, and the same command goes on."""
import errno
import shutil
import subprocess
import time

from faults import VARIANTS
from system_calls import Shim

NAME = "disks"
LONG = 700
KIB = (200, 1500)                       # of a disk that fills
INODES = (8, 60)


class Mount:
    """A small disk below outputs/; `possible` is False where mounts are not allowed."""
    def __init__(self, bench):
        self.folder = bench.scratch / "outputs"
        self.folder.mkdir(exist_ok=True)
        self.possible = self.make("size=1m")
        self.end()

    def make(self, options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "trainx-faults", self.folder],
                              capture_output=True).returncode == 0

    def grow(self):
        subprocess.run(["mount", "-o", "remount,size=1g,nr_inodes=100000", self.folder], check=True)

    def end(self):
        if self.possible:
            subprocess.run(["umount", "-l", self.folder], check=True)


def full(bench, tally, variant, mount, options, what):
    mount.make(options)
    try:
        process = bench.start(*bench.train("hurt", variant))
        ended(bench, tally, process, what)
        mount.grow()
        check(bench, tally, variant, process, f"{what}, {options}")
    finally:
        mount.end()


def fails_after_resume(bench, tally, variant, shim, what):
    first = bench.run(*bench.train("hurt", variant, "run.duration=6 steps"))
    error = bench.random.choice([errno.EIO, errno.ENOSPC, errno.EROFS])
    process = shim.start(variant, bench.random.randrange(1, 300), error, on=True)
    what = f"{what}, {errno.errorcode[error]}"
    ended(bench, tally, process, what)
    bench.check_kept(tally, "hurt", first.saved(), what)
    check(bench, tally, variant, process, what)


def vanishes(bench, tally, variant, what):
    """For good, or it is renamed away and comes back."""
    length, aside = bench.whole(variant)[1], bench.scratch / "aside"
    process = bench.start(*bench.train("hurt", variant))
    if process.ends_within(bench.random.uniform(0.05, length)):
        process.end()
        return
    returns = bench.random.random() < 0.5
    try:
        if returns:
            bench.folder("hurt").rename(aside)
        else:
            shutil.rmtree(bench.folder("hurt"))
    except OSError:                     # not made yet, or a file came meanwhile
        pass
    saved = process.saved()
    ended(bench, tally, process, what)
    if returns and aside.exists() and not (bench.folder("hurt") / "latest").exists():
        what += " and returns"
        bench.remove("hurt")
        aside.rename(bench.folder("hurt"))
        bench.check_kept(tally, "hurt", saved, what)
    bench.check_goes_on(tally, "hurt", variant, what, without_best=True)
    shutil.rmtree(aside, ignore_errors=True)


def ended(bench, tally, process, what):
    began = time.monotonic()
    code = process.end()
    tally.worst = max(tally.worst, time.monotonic() - began)
    bench.check_nobody_left(tally, what)
    if code is None:
        tally.add("hung", f"{what}: no end")
    elif code == 1 or code < 0 or code > 128:
        tally.add("wrong", f"{what}: exit code {code}: {process.words()}")


def check(bench, tally, variant, process, what):
    bench.check_kept(tally, "hurt", process.saved(), what)
    bench.check_goes_on(tally, "hurt", variant, what)


def run(bench, tally):
    shim, mount = Shim(bench), Mount(bench)
    draw = bench.random.randint
    cases = {"fails after a resume": lambda *how: fails_after_resume(*how[:3], shim, how[3]),
             "vanishes": vanishes}
    if mount.possible:
        cases["is full"] = lambda *how: full(*how[:3], mount, f"size={draw(*KIB)}k", how[3])
        cases["has no inodes"] = lambda *how: full(*how[:3], mount, f"nr_inodes={draw(*INODES)}",
                                                   how[3])
    for _ in bench.rounds(tally):
        variant, case = bench.random.choice(list(VARIANTS)), bench.random.choice(list(cases))
        bench.whole(variant)            # outside of the small disk
        bench.remove("hurt")
        tally.rounds += 1
        cases[case](bench, tally, variant, f"{variant}, the disk {case}")
