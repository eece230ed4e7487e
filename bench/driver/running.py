"""Rows one after another, within a time limit; what was measured before is kept."""
import math
import time

import measure
import report
from contestant import say
from figures import OURS

SET_UP_SECONDS = {OURS: 20, "torch eager": 25, "torch compile": 75,
                  "torch compile, CUDA graphs": 80, "Trainer": 35, "Trainer compile": 85}


def expected_seconds(row, args):
    """A guess, to start nothing that cannot finish: set-up, three rounds' worth of calibration at
    most, rounds, ending."""
    measured = (args.rounds + 1.5) * args.seconds_per_round + 4
    return sum(row.get("set_up_seconds", SET_UP_SECONDS.get(name, 45)) + measured
               for name in measure.names(row, args.without))


class Run:
    """Rows one after another; `ahead` of them at a time have those peers loaded that can be."""

    def __init__(self, args, scratch):
        self.args, self.scratch, self.failed, self.left = args, scratch, [], []
        self.end = time.monotonic() + args.limit if args.limit else math.inf

    def has_time(self, row):
        wanted, remaining = expected_seconds(row, self.args), self.end - time.monotonic()
        if wanted > remaining:
            say(f"{row['name']}: left for another time; it takes about {wanted:.0f} s, and "
                f"{max(0, remaining):.0f} s are left")
            self.left.append(row["name"])
        return wanted <= remaining

    def take(self, rows):
        known = {row["name"]: report.load(self.args.out / f"{row['name']}.json") for row in rows}
        complete = {name for name, answer in known.items() if answer and answer["complete"]}
        todo = []
        for row in rows:
            name, names = row["name"], set(measure.names(row, self.args.without))
            if self.args.again or name not in complete or names - known[name]["contestants"].keys():
                todo.append(row)
            else:
                say(f"{name}: measured already ({known[name]['measured']}); "
                    "--again measures it again")
        while todo:
            now, todo = todo[:self.args.ahead], todo[self.args.ahead:]
            measured = [
                measure.Row(row, self.args, self.scratch, self.end, row["name"] in complete)
                for row in now if self.has_time(row)]
            try:
                for each in measured:
                    each.spawn_ahead()
                for each in measured:
                    each.load_ahead()
                for each in measured:
                    if self.has_time(each.row):
                        self.measure(each)
            finally:
                for each in measured:
                    each.stop()

    def measure(self, each):
        name, began = each.row["name"], time.monotonic()
        say(f"{name}:")
        answer = each.run()
        if not answer["complete"]:
            self.left.append(name)
        self.failed += [f"{name}: {who}" for who, c in answer["contestants"].items()
                        if c["failure"] and not c["failure"]["late"]]
        say(f"  {one_line(answer)} ({time.monotonic() - began:.0f} s)")
        if memory := memory_line(answer):
            say(f"  {memory}")


def memory_line(answer):
    """Planned and measured bytes, if the row keeps some on the host beside a GPU; else nothing."""
    done = answer["contestants"].get(OURS, {}).get("done") or {}
    if not done.get("host_bytes") or "CPU" in done.get("machine", ""):
        return ""
    parts = []
    for where, key in (("GPU", "device_memory_bytes"), ("host", "host_memory_bytes")):
        measured, predicted = done.get(key), done.get(f"predicted_{key}")
        if predicted and measured:
            parts.append(f"{where} {measured / 2**30:.2f} GiB, planned {predicted / 2**30:.2f} "
                         f"({predicted / measured - 1:+.2%})")
    return "; ".join(parts)


def one_line(answer):
    parts = []
    for name, c in answer["contestants"].items():
        rate = c.get(f"{answer['unit']}_per_second")
        ratio = answer["ratios"].get(name, {}).get("ratio")
        parts.append(f"{name} " + (f"= {c['same_as']}" if c.get("same_as") else report.short(rate))
                     + (f" (ratio {ratio:.2f})" if ratio else ""))
    return f"{answer['unit']}/s: " + ", ".join(parts)
