"""One row of bench/drive: its contestants set up, taking rounds in turns; and what follows from the figures."""
import datetime
import json
import os
import platform
import shlex
import subprocess

import nvml
import samples
from contestant import ROOT, Contestant, Deadline, Failed, say
from figures import OURS, as_typed, ratios, summary
from plans import Plan


def names(row, without=()):
    """Of a row's contestants, ours first."""
    return [name for name in (OURS, *row.get("variants", {}), *row["peers"]) if name not in without]


BEFORE = "trainx before"


def beside_before(row):
    """The row with an older program of ours (--before) instead of its peers."""
    return {**row, "peers": {}, "variants": {BEFORE: row.get("overrides", [])}, "against": BEFORE, "goal": None, "goal_ratio": None, "goal_memory": None}


def ranks_of(row, name):
    """How many GPUs a contestant computes on, each with the row's batch: 1 where the row names no number."""
    return row.get("ranks", {}).get(name, 1)


def own_settings(row, args, scratch):
    """name -> key=value settings of the contestants that are trainx: OURS, and the row's variants of it."""
    data = samples.file_of(row, scratch)
    found = {}
    for name, settings in {OURS: row.get("overrides", []), **row.get("variants", {})}.items():
        ranks, keys = ranks_of(row, name), {s.partition("=")[0] for s in settings}
        batch = [f"batch.micro_batch_size={row.get('micro_batch', row['batch'])}", f"batch.global_batch_size={row['batch'] * (1 if row.get('shares_batch') else ranks)}", *([f"parallel.world_size={ranks}"] if "ranks" in row else [])]
        settings = [s.replace("{scratch}", str(scratch)) for s in settings]
        found[name] = [*settings, *(s for s in batch if s.partition("=")[0] not in keys), *([f"data.train={data}"] if data else []), *args.set]
    return {name: settings for name, settings in found.items() if name not in args.without}


def prepare(row, args, scratch, log):
    """Files that a row needs beside its data, made by the Python that runs the peers."""
    if not row.get("prepare"):
        return
    say(f"  preparing: {row['prepare']}")
    with open(log, "wb") as out:
        made = subprocess.run([args.python, *shlex.split(row["prepare"].format(scratch=scratch))], cwd=ROOT, stdout=out, stderr=out)
    if made.returncode != 0:
        raise SystemExit(f"bench/drive: {row['name']}: {row['prepare']} failed (see {log})")


def worker_of(row, program):
    """--worker for a row whose model is of a worker of its own: that lies beside the program, or in the folder bench/ of its build."""
    if not row.get("worker"):
        return []
    beside = os.path.dirname(os.path.abspath(program))
    places = [os.path.join(beside, row["worker"]), os.path.join(os.path.dirname(beside), "bench", row["worker"])]
    return ["--worker", next((p for p in places if os.path.exists(p)), places[-1])]


def commands(row, args, scratch):
    """name -> command, ours first."""
    found = {}
    for name, settings in own_settings(row, args, scratch).items():
        program = args.before if name == BEFORE else args.trainx
        found[name] = [str(program), *worker_of(row, program), "bench", "step", "--paced", os.path.join(ROOT, row["recipe"]), *settings]
    for name, command in row["peers"].items():
        found[name] = [args.python, *shlex.split(command.format(data=samples.file_of(row, scratch)))]
    return {name: command for name, command in found.items() if name not in args.without}


def steps_for(contestant, seconds, deadline):
    """How many steps fill a round; short rounds tell little of it, so that they grow first."""
    steps = 2
    for _ in range(3):
        got = contestant.go(steps, deadline())
        contestant.calibration.append(got)
        steps = max(1, round(steps * seconds / got["seconds"]))
        if got["seconds"] >= seconds / 4:
            break
    return steps


class Row:
    """One row being measured; `record()` is what DIR/ROW.json says at any time. `known`: it holds a finished measurement already."""

    def __init__(self, row, args, scratch, end, known):
        self.row, self.args, self.scratch, self.end, self.known, self.sequence = row, args, scratch, end, known, []
        self.gpu = nvml.Device(nvml.visible())
        self.caches = scratch / "caches" / row["name"] if args.caches == "fresh" else None
        logs = args.out / "logs"
        logs.mkdir(exist_ok=True)
        prepare(row, args, scratch, logs / f"{row['name']}.prepare.log")
        self.contestants = [self.contestant(name, command, logs / f"{row['name']}.{name.replace(' ', '_').replace(',', '')}.log")
                            for name, command in commands(row, args, scratch).items()]
        self.path = args.out / f"{row['name']}.json"

    def contestant(self, name, command, log):
        return Contestant(name, command, log, loads_ahead=name in self.row.get("loaded_ahead", ()), ranks=ranks_of(self.row, name), environment=self.row.get("environment"))

    def deadline(self):
        return Deadline(self.args.patience, self.end)

    def caches_of(self, contestant):
        """One for each; builds of ours share one, so that both run the products that one of them chose: choices differ by chance."""
        if self.caches is None:
            return None
        return self.caches / ("ours" if contestant.name in (OURS, BEFORE) else contestant.log.stem)

    def spawn_ahead(self):
        """Those that can load before it is their turn begin to; `load_ahead` waits for them."""
        for c in self.contestants:
            if c.loads_ahead:
                self.attempt(c, lambda: c.spawn(self.caches_of(c)))

    def load_ahead(self):
        for c in self.alive(self.contestants):
            if c.loads_ahead:
                self.attempt(c, lambda: c.load(self.deadline()))

    def stop(self):
        for c in self.contestants:
            c.stop()

    def plan(self):
        """What trainx decides for each of its own; a variant that comes to the same run as another is not run again."""
        known = {}
        for name, settings in own_settings(self.row, self.args, self.scratch).items() if self.row.get("variants") else ():
            c = next(c for c in self.contestants if c.name == name)
            c.plan = Plan(str(self.args.trainx), os.path.join(ROOT, self.row["recipe"]), settings)
            if name == BEFORE:
                continue  # the same plan, by another program
            c.same_as = next((other for other, plan in known.items() if c.plan.same_as(plan)), None)
            known[name] = c.plan

    def run(self):
        try:
            self.plan()
            self.measure([c for c in self.contestants if not c.same_as])
            for c in [c for c in self.contestants if c.failure and c.failure["out_of_memory"]]:
                if len(self.contestants) > 1:       # the others' memory may have been what was missing: once more, alone
                    say(f"  {c.name} again, with the GPU to itself")
                    again = self.contestant(c.name, c.command, c.log.with_suffix(".alone.log"))
                    again.interleaved, again.plan = False, c.plan
                    self.contestants[self.contestants.index(c)] = again
                    self.measure([again])
        finally:
            self.stop()
        return self.write(complete=not any(c.failure and c.failure["late"] for c in self.contestants))

    def measure(self, contestants):
        """Sets all up one after another, so that no one's first step is slowed by another, then goes round."""
        for c in self.alive(contestants):           # who was loaded ahead may have failed
            self.attempt(c, lambda: c.start(self.gpu, self.caches_of(c), self.deadline()))
            if not c.failure:
                say(f"  {c.name} is ready after {c.ready_seconds:.1f} s")
        steps = {}
        for c in self.alive(contestants):
            def calibrate():
                steps[c.name] = steps_for(c, self.args.seconds_per_round, self.deadline)
            self.attempt(c, calibrate)
        for number in range(self.args.rounds):
            for c in self.alive(contestants):
                self.sequence.append([c.name, number])
                self.attempt(c, lambda: c.rounds.append(c.go(steps[c.name], self.deadline())))
            self.write(complete=False)
        for c in self.alive(contestants):
            self.attempt(c, lambda: c.finish(self.deadline()))
        for c in self.alive(contestants):           # only now, that nobody waits for another's end
            self.attempt(c, c.end)

    @staticmethod
    def alive(contestants):
        """Asked again before each one: who fails drops out."""
        return (c for c in contestants if not c.failure)

    @staticmethod
    def attempt(contestant, action):
        try:
            action()
        except (Failed, OSError) as why:
            contestant.fail(why)

    def record(self, complete):
        row, gpu = self.row, self.gpu
        machine = {"gpu": gpu.name(), "driver": gpu.driver_version(), "power_limit_watts": gpu.power_limit_watts(), "memory_bytes": gpu.total_bytes(),
                   "cores": os.cpu_count(), "system": platform.platform()}
        answers = {c.name: summary(row, c, machine["gpu"], as_typed(c.command, ROOT, self.scratch)) for c in self.contestants}
        keep = ("name", "title", "unit", "batch", "length", "ranks", "environment", "goal", "goal_ratio", "against", "goal_memory", "flops_per_token", "flops_note", "table", "methods")
        settings = {name: getattr(self.args, name) for name in ("rounds", "seconds_per_round", "caches")}
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        variants = {name: ratios(answers, row["peers"], name) for name in row.get("variants", {})}
        return {**{k: row.get(k) for k in keep}, "complete": complete, "measured": now, "machine": machine, "settings": settings,
                "sequence": self.sequence, "contestants": answers, "ratios": ratios(answers, dict.fromkeys([*row["peers"], row["against"]])), **({"variant_ratios": variants} if variants else {})}

    def write(self, complete):
        """Unfinished rows are written too, so that an end by force loses little; a finished one gives way to a finished one alone."""
        record = self.record(complete)
        if self.known and not complete:
            return record
        aside = self.path.with_suffix(".json.aside")
        aside.write_text(json.dumps(record, indent=1) + "\n")
        aside.rename(self.path)
        return record
