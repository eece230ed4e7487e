"""One bit, the end or the beginning of a file of a checkpoint is changed: whoever reads it says so,
and the same command falls back or refuses. The same for the run's other files."""
import shutil
import time

from faults import VARIANTS

NAME = "bit flips"
LONG = 6000                             # rounds
OTHERS = ("metrics.jsonl", "resolved.yaml")
REFUSALS = (65, 74, 78, 83)             # bad data, I/O, another recipe, no checkpoint


def change(random, path):
    """In words what was done."""
    data = bytearray(path.read_bytes())
    at = random.randrange(len(data))
    how = random.choice(["bit", "bit", "bit", "cut", "more"])
    if how == "bit":
        data[at] ^= 1 << random.randrange(8)
    elif how == "cut":
        del data[at:]
    else:
        data += random.randbytes(random.randrange(1, 100))
    path.write_bytes(bytes(data))
    return f"{path.parent.name}/{path.name}, {how} at {at}"


def run(bench, tally):
    begun = {}
    for _ in bench.rounds(tally):
        variant = bench.random.choice(list(VARIANTS))
        if variant not in begun:
            bench.remove("hurt")
            begun[variant] = bench.scratch / f"begun-{len(begun)}"
            half = bench.run(*bench.train("hurt", variant, "run.duration=8 steps"))
            if half.code != 0:
                raise RuntimeError(half.words())
            bench.folder("hurt").rename(begun[variant])
        bench.remove("hurt")
        shutil.copytree(begun[variant], bench.folder("hurt"), symlinks=True)
        tally.rounds += 1
        if bench.random.random() < 0.2:
            hurt_other(bench, tally, variant)
        else:
            hurt_checkpoint(bench, tally, variant)


def hurt_checkpoint(bench, tally, variant):
    checkpoint = (bench.folder("hurt") / "latest").resolve()
    what = change(bench.random, bench.random.choice(sorted(checkpoint.iterdir())))
    what = f"{variant}, {what}"
    copy = bench.scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(checkpoint, copy)
    shutil.rmtree(bench.scratch / "out", ignore_errors=True)
    for command in (["ckpt", "verify", bench.folder("hurt")], ["ckpt", "verify", copy],
                    ["export", copy, "out"]):
        began = time.monotonic()
        done = bench.run(*command)
        tally.worst = max(tally.worst, time.monotonic() - began)
        if done.code == 0:
            tally.add("silent", f"{what}: {command[0]} {command[-1]} takes it")
        elif done.code not in REFUSALS:
            tally.add("hung" if done.code is None else "wrong",
                      f"{what}: {command[0]} ends with {done.code}: {done.words()}")
    bench.check_goes_on(tally, "hurt", variant, what, REFUSALS)


def hurt_other(bench, tally, variant):
    """A curve with holes is right where it is told of."""
    path = bench.folder("hurt") / bench.random.choice(OTHERS)
    what = f"{variant}, {change(bench.random, path)}"
    found = type(tally)(NAME)
    done = bench.check_goes_on(found, "hurt", variant, what, REFUSALS)
    holes = any("curve" in each for each in found.found)
    if not holes:
        return [tally.add(*each.split(": ", 1)) for each in found.found]
    if path.name not in done.told():
        tally.add("silent", found.found[0])
