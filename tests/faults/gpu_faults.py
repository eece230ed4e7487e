"""Faults of a GPU: kills in each phase of a run, memory that is not to be had, a device that is
lost, a full disk beside asynchronous saves. Each ends with a sentence, and the same command ends
with the run that nobody hurt. Nothing is done where there is no GPU."""
import errno
import json
import os
import signal
import subprocess
import time

from faults import UNHURT_LIMIT
from gpu_bench import GpuBench, Holder, comes_free, has_gpu, used_bytes

NAME = "faults of a GPU"
BEGAN = time.monotonic()
VICTIMS = ("worker", "launcher", "all")
OUT_OF_MEMORY, UNAVAILABLE, IO_ERROR = 71, 69, 74
MEMORY_ALLOCATION = 2                   # cudaError_t
LOST = {"ecc": "lost:214", "unavailable": "lost:46", "unknown": "lost:999", "nvlink": "lost:220",
        "illegal address": "lost:700", "launch": "lost:719", "a true trap": "trap_kernel",
        "a true illegal address": "illegal_address"}
TRUE_LOSSES = ("a true trap", "a true illegal address")
# What a call that fails may end a run with: no bug, and no signal.
DOCUMENTED = tuple(code for code in range(128) if code != 1)


def graphs_of(calls):
    """Launches by graph: of training, which is captured first, and of evaluation."""
    return [f"cudaGraphLaunch.{i}" for i in range(8) if f"cudaGraphLaunch.{i}" in calls]


def phases(calls):
    """{phase: calls in it}; a name without a number stands for any of its calls."""
    training, *evaluation = graphs_of(calls)
    last = calls[training]
    return {
        "start": ["cudaGetDeviceCount 1", "cudaMalloc 1", "cudaHostAlloc 1", "cudaMemcpyAsync 1"],
        "capture": ["cudaStreamEndCapture 1", "cudaGraphInstantiate 1", "cudaGraphUpload 1"],
        "steps": [f"{training} {n}" for n in (1, last // 2, last)],
        "evaluation": [f"{name} {n}" for name in evaluation for n in (1, calls[name])],
        "end": [f"{name} {calls[name]}" for name in ("cudaFree", "cudaStreamDestroy",
                                                     "cudaGraphExecDestroy") if name in calls],
    }


def check_end(tally, process, codes, what, limit=60):
    """It ends by itself with one of the codes, and says something if that is an error's."""
    began = time.monotonic()
    code = process.end(limit)
    tally.rounds += 1
    tally.worst = max(tally.worst, time.monotonic() - began)
    if code is None:
        tally.add("hung", f"{what}: no end")
    elif code not in codes:
        tally.add("wrong", f"{what}: exit code {code}: {process.words()}")
    elif 0 < code < 128 and not process.events("error"):
        tally.add("silent", f"{what}: exit code {code} without a sentence")
    return code


def check_sentence(tally, process, words, what):
    told = process.told()
    for word in words:
        if word not in told:
            tally.add("silent", f"{what}: '{word}' is not told: {process.words()}")


def whole_name(variant):
    """Of the run that nobody hurts, as Bench.whole calls it."""
    return "whole-" + "".join(c for c in variant if c.isalnum())


def check_resume(bench, tally, process, variant, what):
    print(f"  {time.monotonic() - BEGAN:.0f} s: {what}: {process.process.returncode}", flush=True)
    bench.check_nobody_left(tally, what)
    bench.check_kept(tally, "hurt", process.saved(), what)
    bench.check_goes_on(tally, "hurt", variant, what)


# Kills

def kill_at_call(gpu, tally, variant, call, who, what):
    bench = gpu.bench
    bench.remove("hurt")
    process = gpu.hurt("hurt", variant, **gpu.fault(f"kill-{who}", call))
    # a worker that goes on without its launcher ends too; the last calls may come after the end
    code = process.end()
    tally.rounds += 1
    if code is None:
        tally.add("hung", f"{what}: no end")
    elif code == 0 and not call.startswith(("cudaFree", "cudaStreamDestroy", "cudaGraphExecD")):
        tally.add("wrong", f"{what}: nothing was killed")
    check_resume(bench, tally, process, variant, what)


def kill_in_save(gpu, tally, variant, who, save):
    """While the files of the nth save are written."""
    bench, what = gpu.bench, f"{variant}, {who} killed in save {save}"
    bench.remove("hurt")
    process, folder, seen = gpu.hurt("hurt", variant), bench.folder("hurt"), set()
    while process.process.poll() is None and len(seen) < save:
        try:
            seen.update(name for name in os.listdir(folder)
                        if "checkpoint-" in name and "partial" in name)
        except FileNotFoundError:
            pass
        time.sleep(0.0005)
    workers = process.workers()
    victims = {"worker": workers, "launcher": [process.pid], "all": [process.pid, *workers]}[who]
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if process.end() is None:
        tally.add("hung", f"{what}: no end")
    tally.rounds += process.process.returncode != 0
    check_resume(bench, tally, process, variant, what)


def kill_at_file(gpu, tally, variant, nth):
    """The worker, at the nth call that changes a file of a checkpoint."""
    bench, what = gpu.bench, f"{variant}, worker killed at call {nth} of its saves"
    bench.remove("hurt")
    process = gpu.hurt("hurt", variant, **nth_call(gpu, nth, 0))
    tally.rounds += 1
    if process.end() is None:
        tally.add("hung", f"{what}: no end")
    check_resume(bench, tally, process, variant, what)


def kills(gpu, tally):
    """Each phase but saves with each victim, of variants that are drawn."""
    bench, calls = gpu.bench, {}
    for phase in ("start", "capture", "steps", "evaluation", "end"):
        for who in VICTIMS:
            variant = gpu.variant()
            if variant not in calls:
                calls[variant] = gpu.calls(variant)
            points = phases(calls[variant])[phase]
            if not points:
                tally.add("wrong", f"{variant}: no calls in {phase}: {calls[variant]}")
                continue
            call = bench.random.choice(points)
            kill_at_call(gpu, tally, variant, call, who, f"{variant}, {phase}: {who} at {call}")


def kills_in_saves(gpu, tally):
    random = gpu.bench.random
    for variant in (gpu.variants[0], gpu.variants[-1]):
        for who in VICTIMS:
            kill_in_save(gpu, tally, variant, who, random.randrange(1, 5))
        kill_at_file(gpu, tally, variant, random.randrange(1, 60))


# Memory

def memory_of_the_killed(gpu, tally):
    """GPU memory of a process that was killed comes free, also a good deal of it."""
    bench, what = gpu.bench, "kill with much memory"
    before = used_bytes()
    bench.remove("big")
    process = gpu.hurt("big", gpu.variant(), "model.options.hidden_size=2048",
                       "model.options.num_heads=16", "run.duration=100000 steps",
                       "eval.every=100000 steps", "checkpoint.every=100000 steps")
    end = time.monotonic() + 50
    while not process.events("step") and time.monotonic() < end and not process.ends_within(0.1):
        pass
    if used_bytes() < before + (1 << 30):
        tally.add("wrong", f"{what}: the run holds no memory: {process.words()}")
    bench.kill_all()
    process.end()
    tally.rounds += 1
    if not comes_free(before):
        tally.add("lost", f"{what}: {used_bytes() - before} bytes stay in use")
    bench.remove("big")


def held_memory(gpu, tally, variant, left, codes):
    """Another process leaves the run `left` MiB: it ends before its first step."""
    bench, what = gpu.bench, f"{variant}, {left} MiB of memory left"
    bench.remove("hurt")
    with Holder(left):
        process = gpu.hurt("hurt", variant)
        code = check_end(tally, process, codes, what)
    if code == OUT_OF_MEMORY:
        check_sentence(tally, process, ["GPU"], what)
    if code != 0 and process.events("step"):
        tally.add("wrong", f"{what}: a step was trained")
    check_resume(bench, tally, process, variant, what)


def refused_allocations(gpu, tally):
    """Memory that the plan counts on and the driver refuses, at each of the run's allocations."""
    bench, variant = gpu.bench, gpu.variant()
    calls = gpu.calls(variant)
    for name in ("cudaMalloc", "cudaHostAlloc"):
        numbers = list(range(1, calls[name] + 1))
        bench.random.shuffle(numbers)
        for number in numbers[:2]:
            what = f"{variant}, {name} {number} of {calls[name]} refused"
            bench.remove("hurt")
            process = gpu.hurt("hurt", variant, **gpu.fault(str(MEMORY_ALLOCATION),
                                                            f"{name} {number}"))
            check_end(tally, process, (OUT_OF_MEMORY,), what)
            check_resume(bench, tally, process, variant, what)


def allocations(gpu, tally):
    refused_allocations(gpu, tally)
    if not gpu.is_real:
        return
    memory_of_the_killed(gpu, tally)
    bench, variant = gpu.bench, gpu.variant()
    bench.whole(variant)
    plan = json.loads((bench.folder(whole_name(variant)) / "plan.json").read_text())
    planned = plan["total_bytes"] >> 20
    for left in (8, planned // 2):
        held_memory(gpu, tally, variant, left, (OUT_OF_MEMORY,))
    # so little that the run may fit all the same, for a plan has some to spare
    for left in (planned - 96, planned - 32):
        held_memory(gpu, tally, variant, left, (0, OUT_OF_MEMORY))


# The device

def loss_points(calls, variant, random):
    """Calls in training, evaluation and saves: where the run asks the GPU for something."""
    training, *evaluation = graphs_of(calls)
    points = [f"{training} {calls[training] // 2}"]
    points += [f"{name} {max(1, calls[name] // 2)}" for name in evaluation[:1]]
    names = ["cudaEventSynchronize", "cudaMemcpyAsync", "cudaEventRecord", "cudaStreamWaitEvent",
             "cudaGraphInstantiate", "cudaStreamSynchronize"]
    return points + [f"{name} {random.randrange(max(1, calls[name] // 2), calls[name] + 1)}"
                     for name in names if calls.get(name)]


def lose(gpu, tally, variant, kind, call):
    bench, what = gpu.bench, f"{variant}, {kind} at {call}"
    bench.remove("hurt")
    process = gpu.hurt("hurt", variant, **gpu.fault(LOST[kind], call))
    # a call of the teardown comes after the run is done
    if check_end(tally, process, (0, UNAVAILABLE), what) == UNAVAILABLE:
        check_sentence(tally, process, ["GPU 0 (", "CUDA error", "trainx doctor"], what)
        if (status := bench.folder("hurt") / "status.json").exists():
            if '"failed"' not in status.read_text():
                tally.add("wrong", f"{what}: status.json does not say that the run failed")
    check_resume(bench, tally, process, variant, what)


def restart(gpu, tally, kind):
    """--max-restarts: the run goes on by itself."""
    bench, variant = gpu.bench, gpu.variant()
    calls = gpu.calls(variant)
    name = graphs_of(calls)[0]
    what = f"{variant}, {kind}, with restarts"
    bench.whole(variant)
    bench.remove("hurt")
    process = bench.start(*bench.train("hurt", variant), "--max-restarts", "2",
                          env=gpu.fault(LOST[kind], f"{name} {calls[name] // 2}"))
    check_end(tally, process, (0,), what, limit=120)
    check_sentence(tally, process, ["restart 1 of 2"], what)
    if process.process.returncode == 0 and bench.result("hurt") != bench.whole(variant)[0]:
        tally.add("wrong", f"{what}: another result")
    bench.check_nobody_left(tally, what)


def restarts(gpu, tally):
    for kind in ("ecc", *TRUE_LOSSES):
        if gpu.is_real or kind not in TRUE_LOSSES:
            restart(gpu, tally, kind)


def losses(gpu, tally):
    bench, calls = gpu.bench, {}
    for kind in LOST:
        if kind in TRUE_LOSSES and not gpu.is_real:
            continue
        variant = gpu.variant()
        if variant not in calls:
            calls[variant] = gpu.calls(variant)
        points = loss_points(calls[variant], variant, bench.random)
        chosen = points[:2] if kind in TRUE_LOSSES else bench.random.sample(points, 2)
        for call in chosen:
            lose(gpu, tally, variant, kind, call)


# The disk

def nth_call(gpu, nth, error, log=None):
    count = gpu.bench.scratch / "count"
    count.write_bytes(bytes(4))
    env = {"LD_PRELOAD": str(gpu.libraries["nth_call"]), "NTH": str(nth), "NTH_ERROR": str(error),
           "NTH_PROGRAM": "trainx-worker", "NTH_BELOW": "checkpoint-", "NTH_COUNT": str(count)}
    return env | ({"NTH_LOG": str(log)} if log else {})


def failing_write(gpu, tally, variant, nth, call):
    bench, what = gpu.bench, f"{variant}, ENOSPC at call {nth} ({call})"
    bench.remove("hurt")
    process = gpu.hurt("hurt", variant, **nth_call(gpu, nth, errno.ENOSPC))
    check_end(tally, process, DOCUMENTED, what)        # a save is tried once more
    check_resume(bench, tally, process, variant, what)


def fill(path, left):
    """With what the file system has room for but `left` bytes."""
    with open(path, "wb", buffering=0) as file:
        while True:
            room = os.statvfs(path)
            bytes_ = min(1 << 20, room.f_bavail * room.f_frsize - left)
            if bytes_ < room.f_frsize:
                return
            file.write(bytes(bytes_))


def full_disk(gpu, tally, variant):
    """A file system of its own, in which there is room for one checkpoint and not for two."""
    bench, what = gpu.bench, f"{variant}, a full disk"
    bench.whole(variant)
    whole = bench.folder(whole_name(variant)) / "latest"
    checkpoint_bytes = sum(path.stat().st_size for path in whole.iterdir())
    bench.remove("hurt")
    bench.folder("hurt").mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs",
                              bench.folder("hurt")], capture_output=True).returncode == 0
    if not mounted:
        return False
    filler = bench.folder("hurt") / "filler"
    try:
        process = gpu.hurt("hurt", variant)
        while process.process.poll() is None and not process.events("start"):
            time.sleep(0.001)
        fill(filler, int(1.5 * checkpoint_bytes))
        if check_end(tally, process, (0, IO_ERROR), what) == IO_ERROR:
            check_sentence(tally, process, [os.strerror(errno.ENOSPC)], what)
        if not process.saved():
            tally.add("wrong", f"{what}: no checkpoint was saved while there was room")
        filler.unlink()
        check_resume(bench, tally, process, variant, what)
    finally:
        filler.unlink(missing_ok=True)
        subprocess.run(["umount", "-l", bench.folder("hurt")], capture_output=True)
    return True


def disks(gpu, tally):
    bench = gpu.bench
    for variant in gpu.variants:
        if "asynchronous" not in variant:
            continue
        log = bench.scratch / "file_calls"
        log.unlink(missing_ok=True)
        bench.remove("hurt")
        unhurt = gpu.hurt("hurt", variant, **nth_call(gpu, 0, 0, log))
        if unhurt.end(UNHURT_LIMIT) != 0:
            raise RuntimeError(f"{variant}: the run fails under the shim")
        calls = dict(line.split(" ", 1) for line in log.read_text().splitlines())
        for nth in bench.random.sample(sorted(calls), min(3, len(calls))):
            failing_write(gpu, tally, variant, int(nth), calls[nth])
        if not full_disk(gpu, tally, variant):
            print("tmpfs cannot be mounted: full disks are failing calls alone", flush=True)


# ECC

def ecc(gpu, tally):
    """Counters that rise while a run goes on are warned of and kept in run.json."""
    bench, what = gpu.bench, "errors that ECC cannot correct"
    counters = bench.scratch / "ecc"
    counters.write_text("5 0 0")
    bench.remove("hurt")
    process = gpu.hurt("hurt", gpu.variant(), "run.duration=100000 steps", "eval.every=100 steps",
                       "checkpoint.every=100 steps", "metrics.every=100 steps",
                       LD_PRELOAD=str(gpu.libraries["ecc_counters"]), ECC_COUNTERS=str(counters))
    while process.process.poll() is None and not process.saved():
        time.sleep(0.01)
    if "memory error" in process.told():
        tally.add("wrong", f"{what}: warned before: {process.words()}")
    counters.write_text("6 2 1")
    end = time.monotonic() + 20
    while time.monotonic() < end and "nvidia-smi -r" not in process.told():
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)
    check_end(tally, process, (143,), what)
    check_sentence(tally, process, ["2 memory errors", "trainx doctor", "nvidia-smi -r"], what)
    kept = json.loads((bench.folder("hurt") / "run.json").read_text()).get("gpu_memory_errors", {})
    counts = [kept.get(when, {}).get("ecc_uncorrected") for when in ("begin", "end")]
    if counts != [0, 2]:
        tally.add("wrong", f"{what}: run.json keeps {kept}")
    report = bench.run("doctor", "--json", limit=120, env={
        "LD_PRELOAD": str(gpu.libraries["ecc_counters"]), "ECC_COUNTERS": str(counters)})
    told = json.loads(report.out)
    if (told["gpus"]["gpus"][0].get("ecc_uncorrected") != 2
            or not any("2 memory errors" in f["problem"] for f in told["findings"])):
        tally.add("wrong", f"{what}: doctor does not show them")
    page = bench.scratch / "report.html"
    bench.run("report", bench.folder("hurt"), "--out", page)
    if "could not correct 2 errors" not in page.read_text():
        tally.add("wrong", f"{what}: the report does not show them")
    bench.remove("hurt")


KINDS = {"kills": kills, "kills_in_saves": kills_in_saves, "allocations": allocations,
         "losses": losses, "restarts": restarts, "disks": disks, "ecc": ecc}


def run(bench, tally):
    if not has_gpu():
        return
    gpu = GpuBench(bench)
    if bench.size.every_case:
        for kind in KINDS.values():
            kind(gpu, tally)
        return
    for _ in bench.rounds(tally):
        bench.random.choice(list(KINDS.values()))(gpu, tally)
