"""One of two or four ranks is killed, crashes or is stopped, or its launcher is stopped, or both; on
one host, or on two that see none of each other's processes and meet by TCP. The others end by
themselves, say so, and leave no process behind."""
import copy
import os
import signal
import time

from faults import VARIANTS

NAME = "faults of ranks"
LONG = 510                             # rounds
FAULTS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP)
VICTIMS = ("worker", "launcher", "both")        # of SIGSTOP
ENDS = (82, 81, 137, 139)               # peer lost, hang, the signal's own
LIMIT = 4 + 10                          # run.hang_limit and what the end may take beyond


def on_hosts_of_their_own(bench):
    """A shell is the first process of each host, which nobody in there could kill."""
    program = bench.scratch / "trainx-on-a-host"
    program.write_text("#!/bin/sh\nexec unshare --fork --pid --kill-child --mount-proc "
                       f"sh -c '{bench.trainx} \"$@\"; exit $?' sh \"$@\"\n")
    program.chmod(0o755)
    apart = copy.copy(bench)
    apart.trainx = str(program)
    return apart


def launch(bench, apart, variant, world, two):
    settings = ["run.duration=100000 steps", f"parallel.world_size={world}",
                "batch.micro_batch_size=2"]
    if not two:
        return [bench.start(*bench.train("hurt", variant, *settings))]
    port = bench.random.randrange(20000, 30000)
    return [apart.start(*bench.train("hurt", variant, *settings), "--nnodes", 2,
                        "--node-rank", node, "--nproc-per-node", world // 2,
                        "--master-addr", "127.0.0.1", "--master-port", port) for node in (0, 1)]


def groups(bench):
    """(launcher, its workers), for each host."""
    found = {}
    for process in bench.living():
        try:
            with open(f"/proc/{process}/stat") as stat:
                name, fields = stat.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name.startswith("trainx-worker"):
            found.setdefault(int(fields.split()[1]), []).append(process)
    return list(found.items())


def hurt(bench, hosts, number, victim):
    launcher, workers = bench.random.choice(hosts)
    hit = [launcher] * (victim != "worker")
    hit += [bench.random.choice(workers)] * (victim != "launcher")
    for process in hit:
        os.kill(process, number)


def run(bench, tally):
    of_two = [name for name, variant in VARIANTS.items() if variant.ranks == 2]
    if not of_two:
        return
    apart = on_hosts_of_their_own(bench)
    for _ in bench.rounds(tally):
        variant, two = bench.random.choice(of_two), bench.random.random() < 0.5
        number, world = bench.random.choice(FAULTS), bench.random.choice((2, 4))
        victim = bench.random.choice(VICTIMS) if number == signal.SIGSTOP else "worker"
        what = (f"{variant} ({world}), {number.name} of {victim}, "
                f"{'two hosts' if two else 'one host'}")
        bench.remove("hurt")
        processes = launch(bench, apart, variant, world, two)
        wait_for_training(bench, processes)
        hosts = groups(bench)
        if sum(len(workers) for _, workers in hosts) != world:
            for process in processes:
                process.end(LIMIT)
            tally.add("wrong", f"{what}: the run does not begin: {processes[0].words()}")
            continue
        time.sleep(bench.random.uniform(0, 0.5))
        hurt(bench, hosts, number, victim)
        tally.rounds += 1
        began = time.monotonic()
        for process in processes:
            code = process.end(LIMIT + 10)
            if code is None:
                tally.add("hung", f"{what}: no end")
            elif code not in (*ENDS, -signal.SIGKILL):
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
