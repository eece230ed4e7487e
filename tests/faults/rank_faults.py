"""One of two ranks is killed, crashes or is stopped, in one launcher or in one of two that meet by
TCP: the others end by themselves, say so, and leave no process behind."""
import os
import signal
import time

from faults import VARIANTS

NAME = "faults of ranks"
LONG = 510                             # rounds
FAULTS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP)
ENDS = (82, 81, 137, 139)               # peer lost, hang, the signal's own
LIMIT = 4 + 10                          # run.hang_limit and what the end may take beyond


def launch(bench, variant, two):
    if not two:
        return [bench.start(*bench.train("hurt", variant, "run.duration=100000 steps"))]
    port = bench.random.randrange(20000, 30000)
    return [bench.start(*bench.train("hurt", variant, "run.duration=100000 steps"), "--nnodes", 2,
                        "--node-rank", node, "--nproc-per-node", 1, "--master-addr", "127.0.0.1",
                        "--master-port", port) for node in (0, 1)]


def run(bench, tally):
    of_two = [name for name, variant in VARIANTS.items() if variant.ranks == 2]
    if not of_two:
        return
    for _ in bench.rounds(tally):
        variant, two = bench.random.choice(of_two), bench.random.random() < 0.5
        number = bench.random.choice(FAULTS)
        what = f"{variant}, {number.name}, {'two launchers' if two else 'one launcher'}"
        bench.remove("hurt")
        processes = launch(bench, variant, two)
        wait_for_training(bench, processes)
        workers = [worker for process in processes for worker in process.workers()]
        if len(workers) != 2:
            for process in processes:
                process.end(LIMIT)
            tally.add("wrong", f"{what}: the run does not begin: {processes[0].words()}")
            continue
        time.sleep(bench.random.uniform(0, 0.5))
        os.kill(bench.random.choice(workers), number)
        tally.rounds += 1
        began = time.monotonic()
        for process in processes:
            code = process.end(LIMIT + 10)
            if code is None:
                tally.add("hung", f"{what}: no end")
            elif code not in ENDS:
                tally.add("wrong", f"{what}: exit code {code}: {process.words()}")
        took = time.monotonic() - began
        tally.worst = max(tally.worst, took)
        if took > LIMIT:
            tally.add("hung", f"{what}: ended after {took:.1f} s")
        bench.check_nobody_left(tally, what, 2)
        bench.check_kept(tally, "hurt", max(p.saved() for p in processes), what)


def wait_for_training(bench, processes):
    for _ in range(1200):
        if any(process.saved() for process in processes):
            return
        if any(process.process.poll() is not None for process in processes):
            return
        time.sleep(0.05)
