"""Power cuts: all that a run does to its disk is recorded, and of each moment a disk is made that
holds what was safe by then, with some of the rest or nothing; then the same command goes on there.
Those that go on are cut again."""
import json
import os
import shutil
import time

from disk_model import Disk, read_records
from faults import VARIANTS
from system_calls import build

NAME = "power cuts"
LONG = 1000
CUTS = 8                                # of one recorded run
AGAIN = 3                               # times that a run is cut one after the other, at most
LOGS = ("/logs/", "/.lock")             # written by means that the recorder does not see


def told(records):
    """The last step of which these say that it was saved."""
    last = 0
    for line in b"".join(r.data for r in records if r.kind == "p").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue                    # cut
        if isinstance(event, dict) and event.get("event") == "checkpoint":
            last = max(last, event["step"])
    return last


def write(root, files):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, content in files.items():
        if content is None:
            (root / path).mkdir()
        elif isinstance(content, str):
            (root / path).symlink_to(content)
        else:
            (root / path).write_bytes(content)


def is_recorded(path):
    return not any(log in f"/{path}" for log in LOGS)


class Recorder:
    def __init__(self, bench):
        self.bench, self.library = bench, build(bench, "record_calls")
        self.log = bench.scratch / "records"
        self.root = bench.scratch / "outputs"

    def cuts(self, variant, files, said):
        """(call, disk's files after a power cut there, the step told by then) of a run that goes on
        from `files` to its end."""
        write(self.root, files)
        self.log.unlink(missing_ok=True)
        disk, bench = Disk(self.root), self.bench
        done = bench.run(*bench.train("hurt", variant), env={
            "LD_PRELOAD": str(self.library), "RECORD": str(self.log), "RECORD_BELOW": "outputs"})
        if done.code != 0:
            raise RuntimeError(f"{variant}: the recorded run ends with {done.code}: {done.words()}")
        records = read_records(self.log)
        points = sorted(bench.random.randint(0, len(records)) for _ in range(CUTS))
        found = []
        for number, record in enumerate([*records, None]):
            for at in points:
                if at == number:
                    found.append((f"call {at} of {len(records)}", disk.after_cut(bench.random),
                                  max(said, told(records[:at]))))
            if record:
                disk.take(record)
        self.check(disk)
        return found

    def check(self, disk):
        """That nothing escapes the recorder: its disk is the one that is there."""
        there, recorded = Disk(self.root).now(), disk.now()
        wrong = [path for path in sorted({*there, *recorded}) if is_recorded(path)
                 and there.get(path) != recorded.get(path)]
        if wrong:
            raise RuntimeError(f"calls that the recorder does not see: {wrong}")


def run(bench, tally):
    recorder, bases = Recorder(bench), []
    for _ in bench.rounds(tally):
        variant, files, said, age = bases.pop() if bases else (
            bench.random.choice(list(VARIANTS)), {}, 0, 0)
        bench.whole(variant)            # before disks are written over
        for at, left, promised in recorder.cuts(variant, files, said):
            if bench.size.rounds is not None and tally.rounds >= bench.size.rounds:
                return
            cut(bench, tally, recorder, variant, left, promised, at)
            if age < AGAIN and bench.random.random() < 0.1:
                bases.append((variant, left, promised, age + 1))


def cut(bench, tally, recorder, variant, left, promised, at):
    what = f"{variant}, power cut at {at}"
    write(recorder.root, left)
    tally.rounds += 1
    bench.check_kept(tally, "hurt", promised, what)
    began = time.monotonic()
    bench.check_goes_on(tally, "hurt", variant, what)
    tally.worst = max(tally.worst, time.monotonic() - began)
