"""Signals at random moments, to the launcher, a worker or both: the run ends with the signal's code
and a checkpoint of its very last step."""
import json
import os
import signal
import time

from faults import VARIANTS

NAME = "signals"
LONG = 2500                             # rounds
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129, signal.SIGUSR1: 75}


def steps_of(bench):
    path = bench.folder("hurt") / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [m["step"] for m in map(json.loads, lines) if "loss" in m]


def send(random, number, process):
    who, workers = random.choice(["launcher", "worker", "both"]), process.workers()
    ids = {"launcher": [process.pid], "both": [process.pid, *workers],
           "worker": [random.choice(workers)] if workers else [process.pid]}[who]
    for each in ids:
        try:
            os.kill(each, number)
        except ProcessLookupError:
            pass
    return who


def run(bench, tally):
    for _ in bench.rounds(tally):
        variant = bench.random.choice(list(VARIANTS))
        length = bench.whole(variant)[1]
        bench.remove("hurt")
        process = bench.start(*bench.train("hurt", variant))
        if process.ends_within(bench.random.uniform(0.02, length)):
            if code := process.end():
                tally.add("wrong", f"{variant}: exit code {code} unasked: {process.words()}")
            continue
        number = bench.random.choice(list(CODES))
        trained, began = bool(steps_of(bench)), time.monotonic()
        what = f"{variant}, {number.name} to {send(bench.random, number, process)}"
        code = process.end()
        tally.rounds += 1
        tally.worst = max(tally.worst, time.monotonic() - began)
        if code is None:
            tally.add("hung", f"{what}: no end")
            continue
        bench.check_nobody_left(tally, what)
        # before the first step the signal may end a process that does not take it yet
        if code not in (0, CODES[number]) and (trained or code not in (-number, 128 + number)):
            tally.add("wrong", f"{what}: exit code {code}: {process.words()}")
        last, kept = max(steps_of(bench), default=0), process.saved()
        if last > kept:
            tally.add("lost", f"{what}: step {last} was trained, and {kept} is saved")
        bench.check_kept(tally, "hurt", kept, what)
        bench.check_goes_on(tally, "hurt", variant, what)
