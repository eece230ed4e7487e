"""One row of bench/drive: its contestants set up, taking rounds in turns; and what follows from the figures."""
import array
import datetime
import json
import os
import platform
import random
import shlex
import statistics
import sys

import nvml
from contestant import ROOT, Contestant, Deadline, Failed, say

OURS = "trainx"
PEAK_FLOPS = {"H100": 989.4e12, "H200": 989.4e12}   # bf16, dense, by the maker's sheets: of MFU


def write_tokens(path):
    """llm.c's format, random ids below GPT-2's vocabulary: 4 million, so that an epoch is 64 steps of 64 x 1024."""
    ids = array.array("H", random.Random(1).choices(range(50257), k=2**22 + 1))
    header = array.array("i", [20240520, 1, len(ids)] + [0] * 253)
    if sys.byteorder == "big":
        ids.byteswap(), header.byteswap()
    path.write_bytes(header.tobytes() + ids.tobytes())


def write_jsonl(path):
    """512 samples of 512 ids without padding, as the guides' experiment has it."""
    generator = random.Random(1)
    with path.open("w") as f:
        for _ in range(512):
            f.write(json.dumps({"input_ids": generator.choices(range(1000, 30000), k=512), "label": generator.randrange(2)}) + "\n")


def commands(row, args, scratch):
    """name -> command, ours first."""
    overrides = [*row.get("overrides", []), f"batch.micro_batch_size={row['batch']}", f"batch.global_batch_size={row['batch']}"]
    if row.get("data"):
        path = scratch / {"tokens": "train.bin", "jsonl": "train.jsonl"}[row["data"]]
        if not path.exists():
            {"tokens": write_tokens, "jsonl": write_jsonl}[row["data"]](path)
        overrides.append(f"data.train={path}")
    found = {OURS: [str(args.trainx), "bench", "step", "--paced", os.path.join(ROOT, row["recipe"]), *overrides, *args.set]}
    for name, command in row["peers"].items():
        found[name] = [args.python, *shlex.split(command)]
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
        self.row, self.args, self.end, self.known, self.sequence = row, args, end, known, []
        self.gpu = nvml.Device(nvml.visible())
        self.caches = scratch / "caches" / row["name"] if args.caches == "fresh" else None
        logs = args.out / "logs"
        logs.mkdir(exist_ok=True)
        self.contestants = [Contestant(name, command, logs / f"{row['name']}.{name.replace(' ', '_').replace(',', '')}.log")
                            for name, command in commands(row, args, scratch).items()]
        self.path = args.out / f"{row['name']}.json"

    def deadline(self):
        return Deadline(self.args.patience, self.end)

    def run(self):
        try:
            self.measure(self.contestants)
            for c in [c for c in self.contestants if c.failure and c.failure["out_of_memory"]]:
                if len(self.contestants) > 1:       # the others' memory may have been what was missing: once more, alone
                    say(f"  {c.name} again, with the GPU to itself")
                    again = Contestant(c.name, c.command, c.log.with_suffix(".alone.log"))
                    again.interleaved = False
                    self.contestants[self.contestants.index(c)] = again
                    self.measure([again])
        finally:
            for c in self.contestants:
                c.stop()
        return self.write(complete=not any(c.failure and c.failure["late"] for c in self.contestants))

    def measure(self, contestants):
        """Sets all up one after another, so that no one's first step is slowed by another, then goes round."""
        for c in contestants:
            self.attempt(c, lambda: c.start(self.gpu, self.caches, self.deadline()))
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
        answers = {c.name: summary(row, c, machine["gpu"]) for c in self.contestants}
        keep = ("name", "title", "unit", "batch", "length", "goal", "goal_ratio", "against", "goal_memory", "flops_per_token")
        settings = {name: getattr(self.args, name) for name in ("rounds", "seconds_per_round", "caches")}
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        return {**{k: row.get(k) for k in keep}, "complete": complete, "measured": now, "machine": machine, "settings": settings,
                "sequence": self.sequence, "contestants": answers, "ratios": ratios(answers)}

    def write(self, complete):
        """Unfinished rows are written too, so that an end by force loses little; a finished one gives way to a finished one alone."""
        record = self.record(complete)
        if self.known and not complete:
            return record
        aside = self.path.with_suffix(".json.aside")
        aside.write_text(json.dumps(record, indent=1) + "\n")
        aside.rename(self.path)
        return record


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def summary(row, c, gpu):
    """Everything raw of a contestant and what follows from it; nothing that was not measured."""
    answer = {"command": c.command, "interleaved": c.interleaved, "ready": c.ready, "ready_seconds": c.ready_seconds, "calibration": c.calibration,
              "rounds": c.rounds, "done": c.done, "device_memory_bytes": c.device_memory, "failure": c.failure}
    units = row["batch"] * (row["length"] if row["unit"] == "tokens" else 1)
    said = c.done.get(f"{row['unit']}_per_step")
    if said is not None and said != units and not c.failure:
        why = f"its steps are of {said} {row['unit']}, the row's of {units}"
        answer["failure"] = c.failure = {"why": why, "exit_code": 0, "late": False, "out_of_memory": False, "stderr": []}
    if not c.rounds or c.failure:
        return answer
    seconds = [r["seconds"] / r["steps"] for r in c.rounds]
    step = median(seconds)
    answer |= {"step_time_ms": step * 1e3, f"{row['unit']}_per_second": units / step, "spread": (max(seconds) - min(seconds)) / step}
    answer["joules_per_unit"] = median(r["joules"] / (r["steps"] * units) if r.get("joules") is not None else None for r in c.rounds)
    watts = [r["joules"] / r["seconds"] for r in c.rounds if r.get("joules") is not None]
    answer["watts"] = median(watts)
    peak = next((flops for name, flops in PEAK_FLOPS.items() if gpu and name in gpu), None)
    if peak and row.get("flops_per_token"):
        answer["mfu"] = row["flops_per_token"] * row["batch"] * row["length"] / step / peak
    return answer


def ratios(answers):
    """Ours over each peer: of the medians, and the lowest and highest of rounds taken one after the other."""
    ours, found = answers.get(OURS, {}), {}
    for name, peer in answers.items():
        if name == OURS or "step_time_ms" not in ours or "step_time_ms" not in peer:
            continue
        each = [(b["seconds"] / b["steps"]) / (a["seconds"] / a["steps"]) for a, b in zip(ours["rounds"], peer["rounds"])]
        found[name] = {"ratio": peer["step_time_ms"] / ours["step_time_ms"], "lowest": min(each), "highest": max(each),
                       "interleaved": ours["interleaved"] and peer["interleaved"]}
    return found
