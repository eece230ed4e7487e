"""Processes that tests are cut into, and the parts of a run that several calls share."""
import dataclasses
import math

from estimates import given

START = 3                               # seconds until a process has the GPU
SHARD_SECONDS = 25                      # of cases that one process of a binary runs
LEAST_LIMIT, SLACK = 120, 4             # seconds; times the estimate


@dataclasses.dataclass
class Unit:
    """Tests that one process runs."""
    tests: list
    estimate: float
    number: int = 1                     # of the units of its entry
    alone: bool = False                 # nothing may run beside it

    @property
    def entry(self):
        return self.tests[0].entry

    @property
    def limit(self):
        return max(LEAST_LIMIT, SLACK * self.estimate)

    def label(self):
        return (self.tests[0].label() if self.entry.is_script()
                else f"{self.entry.name} #{self.number}")


def estimate(test, recorded):
    """Seconds; `recorded`: {(entry, test): seconds of all its parts}."""
    parts = int(test.part.split("/")[1]) if test.part else 1
    if (known := recorded.get((test.entry.name, test.name))) is not None:
        return known / parts
    return given(test.entry.name, test.name, parts)


def spread(items, cost, count):
    """`count` lists of about the same cost, each in the order of `items`."""
    lists, loads = [[] for _ in range(count)], [0.0] * count
    for at in sorted(range(len(items)), key=lambda i: (-cost(items[i]), i)):
        to = loads.index(min(loads))
        lists[to].append(at)
        loads[to] += cost(items[at])
    return [[items[at] for at in sorted(chosen)] for chosen in lists]


def units_of(tests, recorded, serial_scripts=False):
    """The units of one entry."""
    def cost(test):
        return estimate(test, recorded)
    is_script = tests[0].entry.is_script()
    if is_script:
        shards = [[test] for test in tests]
    else:
        total = sum(map(cost, tests))
        count = min(len(tests), max(1, math.ceil(total / SHARD_SECONDS)))
        shards = spread(tests, cost, count)
    return [Unit(shard, START + sum(map(cost, shard)), number,
                 is_script and serial_scripts or any(test.alone for test in shard))
            for number, shard in enumerate(shards, 1)]


def part_of(units, part, count, slots):
    """The part-th of `count` parts, alike in time. A unit that runs alone holds all slots."""
    return spread(units, lambda u: u.estimate * (slots if u.alone else 1), count)[part - 1]
