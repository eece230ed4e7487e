"""The clock of the day jumps while a run goes on: nothing that it does hangs on it."""
import time

from faults import VARIANTS
from system_calls import build

NAME = "clocks that jump"
LONG = 300
JUMPS = (-10 * 365 * 86400, -86400, -3600, -5, 5, 3600, 86400, 10 * 365 * 86400)     # seconds


def run(bench, tally):
    library = build(bench, "clock_jump")
    for _ in bench.rounds(tally):
        variant = bench.random.choice(list(VARIANTS))
        length = bench.whole(variant)[1]
        jump, after = bench.random.choice(JUMPS), bench.random.uniform(0, length)
        what = f"{variant}, the clock jumps by {jump} s after {after:.2f} s"
        bench.remove("hurt")
        began = time.monotonic()
        clocks = {"LD_PRELOAD": str(library), "JUMP_AT": str(time.time() + after),
                  "JUMP_BY": str(jump)}
        done = bench.run(*bench.train("hurt", variant), env=clocks)
        tally.rounds += 1
        tally.worst = max(tally.worst, time.monotonic() - began)
        bench.check_nobody_left(tally, what)
        if done.code is None:
            tally.add("hung", f"{what}: no end")
        elif done.code != 0:
            tally.add("wrong", f"{what}: exit code {done.code}: {done.words()}")
        bench.check_kept(tally, "hurt", done.saved(), what)
        bench.check_goes_on(tally, "hurt", variant, what)
