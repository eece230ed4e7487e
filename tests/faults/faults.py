"""What the campaigns share: a small run, processes that are hurt, a run that was hurt held against
one that was not, and the count of what went wrong."""
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
import uuid

import variants
from variants import VARIANTS

LIMIT = 60                              # seconds, after which a process counts as hung
# A run that nobody hurts may be the first on a GPU that no kernel was built for, which compiles all.
UNHURT_LIMIT = 300


@dataclasses.dataclass
class Tally:
    """What a campaign counts. `lost`: a checkpoint that was told of is gone or damaged. `wrong`:
    another result, or an exit code that is none of the documented ones. `silent`: damage that is
    used without a word. `hung`: no end within the limit, or processes that are left behind."""
    campaign: str
    rounds: int = 0
    lost: int = 0
    wrong: int = 0
    silent: int = 0
    hung: int = 0
    worst: float = 0                    # seconds from a fault to the end
    found: list = dataclasses.field(default_factory=list)

    def add(self, kind, what):
        setattr(self, kind, getattr(self, kind) + 1)
        self.found.append(f"{kind}: {what}")

    def failed(self):
        return self.lost + self.wrong + self.silent + self.hung > 0


def total(tallies):
    """Of parts of one campaign."""
    whole = Tally(tallies[0].campaign, worst=max(tally.worst for tally in tallies))
    for tally in tallies:
        for name in ("rounds", "lost", "wrong", "silent", "hung", "found"):
            setattr(whole, name, getattr(whole, name) + getattr(tally, name))
    return whole


def read(paths):
    """The tallies that scripts/faults wrote, of each campaign one."""
    parts = {}
    for path in paths:
        for counts in json.loads(pathlib.Path(path).read_text()):
            parts.setdefault(counts["campaign"], []).append(Tally(**counts))
    return [total(each) for each in parts.values()]


@dataclasses.dataclass(frozen=True)
class Size:
    """How much of a campaign a bench does."""
    seconds: float                      # at most
    rounds: int = None                  # None: as many as there is time for
    every_case: bool = False            # of campaigns whose cases can be counted: all
    part: int = 0                       # of those: each `parts`-th, from this one on
    parts: int = 1
    until_first: bool = False

    def share(self, cases):
        return cases[self.part::self.parts]


def is_worker(process):
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().startswith("trainx-worker")
    except OSError:
        return False


class Process:
    """trainx as a user starts it, with its events and sentences."""
    def __init__(self, bench, args, env=None, memory=None, cwd=None):
        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        self.bench = bench
        self.process = subprocess.Popen(
            [bench.trainx, *map(str, args)], cwd=cwd or bench.scratch,
            env={**bench.environment, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=limits)
        self.pid, self.out, self.err = self.process.pid, b"", b""
        self.readers = [threading.Thread(target=self.read, args=(name,)) for name in ("out", "err")]
        for reader in self.readers:
            reader.start()

    def read(self, name):
        stream = self.process.stdout if name == "out" else self.process.stderr
        for line in stream:
            setattr(self, name, getattr(self, name) + line)

    def ends_within(self, seconds):
        try:
            self.process.wait(timeout=seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def end(self, limit=LIMIT):
        """The exit code; None: it had to be killed. What it says is complete then."""
        ended = self.ends_within(limit)
        if not ended:
            self.bench.kill_all()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        return self.process.returncode if ended else None

    def workers(self):
        try:
            children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except OSError:
            return []
        return [int(child) for child in children.split() if is_worker(child)]

    def events(self, kind):
        lines = self.out.decode(errors="replace").splitlines()
        found = []
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue                # cut by a kill
            if isinstance(event, dict) and event.get("event") == kind:
                found.append(event)
        return found

    def saved(self):
        """The last step that it said was saved."""
        return max((event["step"] for event in self.events("checkpoint")), default=0)

    def told(self):
        """All that people are told."""
        events = self.events("warning") + self.events("error")
        return "\n".join([self.err.decode(errors="replace"), *(e["message"] for e in events)])

    def words(self):
        errors = [event["message"] for event in self.events("error")]
        lines = self.err.decode(errors="replace").strip().splitlines()
        return (errors + lines + [""])[0][:300]


class Bench:
    """A scratch folder of a campaign, or of one of the parts that it is cut into."""
    def __init__(self, trainx, scratch, seed, size, recipes=None):
        self.trainx, self.scratch = str(pathlib.Path(trainx).resolve()), pathlib.Path(scratch)
        self.random, self.size, self.recipes = random.Random(seed), size, recipes
        self.mark, self.began = uuid.uuid4().hex, time.monotonic()
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("TRAINX_SET", "TRAINX_LOG", "SLURM_"))}
        self.environment.update(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", FAULTS=self.mark)
        if recipes is None:
            self.recipes = variants.prepare(self, self.scratch)
        self.wholes = {}

    def rounds(self, tally):
        """Goes on until as many rounds are done as were asked for, or the time is over; or at the
        first that is wrong if so asked."""
        while time.monotonic() < self.began + self.size.seconds:
            if self.size.until_first and tally.failed():
                return
            if self.size.rounds is not None and tally.rounds >= self.size.rounds:
                return
            yield

    def start(self, *args, **how):
        return Process(self, args, **how)

    def run(self, *args, limit=LIMIT, **how):
        process = self.start(*args, **how)
        process.code = process.end(limit)
        return process

    def train(self, run, variant, *settings):
        return ["train", self.recipes[variant], "--json", f"run.name={run}",
                *VARIANTS[variant].settings, *settings]

    def folder(self, run):
        return self.scratch / "outputs" / run

    def remove(self, run):
        shutil.rmtree(self.folder(run), ignore_errors=True)

    def living(self):
        """Processes that this bench started, but zombies."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (self.mark.encode() in (process / "environ").read_bytes()
                        and (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"):
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def kill_all(self):
        for process in self.living():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def check_nobody_left(self, tally, what, seconds=10):
        end = time.monotonic() + seconds
        while self.living() and time.monotonic() < end:
            time.sleep(0.02)
        if self.living():
            tally.add("hung", f"{what}: processes are left behind")
            self.kill_all()

    def result(self, run):
        """All that a finished run says and holds: links, weights and states, curve."""
        folder = self.folder(run)
        links = {name: os.readlink(folder / name) for name in ("latest", "best")
                 if (folder / name).is_symlink()}
        files = {f"{link}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
                 for link in links for path in sorted((folder / link).glob("*.safetensors"))}
        lines = folder / "metrics.jsonl"
        curve = [point(line) for line in lines.read_bytes().splitlines()] if lines.exists() else []
        litter = [path.name for path in folder.rglob("*partial*")]
        return {"links": links, "files": files, "curve": curve, "litter": litter}

    def whole(self, variant):
        """(result, seconds) of a run that nobody hurt."""
        if variant not in self.wholes:
            began = time.monotonic()
            name = "whole-" + "".join(c for c in variant if c.isalnum())
            done = self.run(*self.train(name, variant), limit=UNHURT_LIMIT)
            if done.code != 0:
                raise RuntimeError(f"{variant}: {done.code}: {done.words()}")
            self.wholes[variant] = self.result(name), time.monotonic() - began
        return self.wholes[variant]

    def check_kept(self, tally, run, saved, what):
        """Of a run that was hurt: what it said was saved is there and whole."""
        steps = [int(path.name.split("-")[1]) for path in self.folder(run).glob("checkpoint-*")]
        if saved and max(steps, default=0) < saved:
            tally.add("lost", f"{what}: step {saved} was saved, and there are {sorted(steps)}")
        if steps and self.run("ckpt", "verify", self.folder(run)).code != 0:
            tally.add("lost", f"{what}: ckpt verify refuses {sorted(steps)}")

    def check_goes_on(self, tally, run, variant, what, refusals=(), without_best=False):
        """The same command, which is to end as the run that nobody hurt, or with a refusal.
        `without_best`: the checkpoint of the lowest held-out loss may have been removed."""
        done = self.run(*self.train(run, variant))
        self.check_nobody_left(tally, what)
        if done.code is None:
            tally.add("hung", f"{what}: the same command does not end")
        elif done.code != 0:
            if done.code not in refusals:
                tally.add("wrong", f"{what}: the same command ends with {done.code}: "
                          f"{done.words()}")
        else:
            result, whole = self.result(run), self.whole(variant)[0]
            if without_best:
                result, whole = leave_out_best(result), leave_out_best(whole)
            for part, wanted in whole.items():
                if result[part] != wanted:
                    tally.add("wrong", f"{what}: {part}: {difference(result[part], wanted)}")
        return done


def leave_out_best(result):
    return {**result, **{part: {name: value for name, value in result[part].items()
                                if not name.startswith("best")} for part in ("links", "files")}}


def point(line):
    """Of metrics.jsonl, or the line where it is none."""
    try:
        m = json.loads(line)
        return m["step"], m.get("loss"), m.get("eval_loss")
    except (ValueError, KeyError, TypeError):
        return line


def difference(got, wanted):
    if isinstance(wanted, dict):
        return ", ".join(f"{k}: {got.get(k)}, not {v}" for k, v in wanted.items() if got.get(k) != v)
    return f"{[x for x in got if x not in wanted]} instead of {[x for x in wanted if x not in got]}"
