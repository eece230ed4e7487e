"""kill -9 at random moments to the launcher, a worker or all, and the same command again until the
run is done."""
import os
import signal
import time

from faults import VARIANTS

NAME = "kills at random"
LONG = 1000                             # rounds
KILLS = 6                               # of one run; then it may end


def kill(random, process):
    who = random.choice(["launcher", "worker", "all"])
    workers = process.workers()
    victims = {"launcher": [process.pid], "all": [process.pid, *workers],
               "worker": [random.choice(workers)] if workers else [process.pid]}[who]
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return who


def run(bench, tally):
    for _ in bench.rounds(tally):
        variant = bench.random.choice(list(VARIANTS))
        length = bench.whole(variant)[1]
        bench.remove("hurt")
        saved = 0
        for _ in range(KILLS):
            process = bench.start(*bench.train("hurt", variant))
            if process.ends_within(bench.random.uniform(0.02, 1.05 * length)):
                process.end()
                break
            who, began = kill(bench.random, process), time.monotonic()
            what = f"{variant}, {who} killed"
            tally.rounds += 1
            if process.end() is None:
                tally.add("hung", f"{what}: no end")
            tally.worst = max(tally.worst, time.monotonic() - began)
            bench.check_nobody_left(tally, what)
            saved = max(saved, process.saved())
            bench.check_kept(tally, "hurt", saved, what)
        what = f"{variant}, killed at random"
        done = bench.check_goes_on(tally, "hurt", variant, what)
        bench.check_kept(tally, "hurt", max(saved, done.saved()), what)
