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

RECIPE = """\
run: {name: whole, seed: 3, duration: 12 steps, deterministic: true, hang_limit: 4 s}
model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}
data: {type: stories, sequence_length: 32, samples: 512, eval_samples: 10}
batch: {global_batch_size: 8, micro_batch_size: 4}
optimizer: {type: adamw, lr: 0.3}
schedule: {type: constant, warmup: 2 steps}
checkpoint: {every: 2 steps, keep_last: 1}
eval: {every: 2 steps}
metrics: {every: 1 steps}
"""
ZERO3 = ["parallel.mode=zero3", "parallel.world_size=2"]
ASYNCHRONOUS = ["checkpoint.asynchronous=true"]
VARIANTS = {
    "one rank": [],
    "asynchronous": ASYNCHRONOUS,
    "zero3 x 2": ZERO3,
    "zero3 x 2, asynchronous": ZERO3 + ASYNCHRONOUS,
}
LIMIT = 60                              # seconds, after which a process counts as hung


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
        return [int(child) for child in children.split()]

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
    def __init__(self, trainx, scratch, seed, seconds, every_case, until_first):
        self.trainx, self.scratch = str(pathlib.Path(trainx).resolve()), pathlib.Path(scratch)
        self.random, self.seconds, self.every_case = random.Random(seed), seconds, every_case
        self.until_first = until_first
        self.mark = uuid.uuid4().hex
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("TRAINX_SET", "TRAINX_LOG", "SLURM_"))}
        self.environment.update(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", FAULTS=self.mark)
        self.recipe = self.scratch / "recipe.yaml"
        self.recipe.write_text(RECIPE)
        self.wholes = {}

    def rounds(self, tally):
        """Goes on until the campaign's time is over, or at the first that is wrong if so asked."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and not (self.until_first and tally.failed()):
            yield

    def start(self, *args, **how):
        return Process(self, args, **how)

    def run(self, *args, limit=LIMIT, **how):
        process = self.start(*args, **how)
        process.code = process.end(limit)
        return process

    def train(self, run, variant, *settings):
        return ["train", self.recipe, "--json", f"run.name={run}", *VARIANTS[variant], *settings]

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
        curve = [point(line) for line in (folder / "metrics.jsonl").read_bytes().splitlines()]
        litter = [path.name for path in folder.rglob("*partial*")]
        return {"links": links, "files": files, "curve": curve, "litter": litter}

    def whole(self, variant):
        """(result, seconds) of a run that nobody hurt."""
        if variant not in self.wholes:
            began = time.monotonic()
            name = "whole-" + "".join(c for c in variant if c.isalnum())
            done = self.run(*self.train(name, variant))
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

    def check_goes_on(self, tally, run, variant, what, refusals=()):
        """The same command, which is to end as the run that nobody hurt, or with a refusal."""
        done = self.run(*self.train(run, variant))
        self.check_nobody_left(tally, what)
        if done.code is None:
            tally.add("hung", f"{what}: the same command does not end")
        elif done.code != 0:
            if done.code not in refusals:
                tally.add("wrong", f"{what}: the same command ends with {done.code}: "
                          f"{done.words()}")
        else:
            result = self.result(run)
            for part, wanted in self.whole(variant)[0].items():
                if result[part] != wanted:
                    tally.add("wrong", f"{what}: {part}: {difference(result[part], wanted)}")
        return done


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
