"""What the tests on a GPU are: binaries with their cases, scripts with their methods."""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = ("kernels", "libraries", "torch_attention", "own_modules", "blocks", "attestation")
# Entries that run a binary once more: with the tiles of GPUs with little shared memory.
VARIANTS = {"kernels": {"99_kib": {"TRAINX_TEST_SHARED_MEMORY_KIB": "99"}}}
SECONDS_TO_LIST = 120


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of ctest."""
    name: str
    path: pathlib.Path
    environment: tuple = ()             # (name, value)

    def is_script(self):
        return self.path.suffix == ".py"

    def command(self):
        return [sys.executable, str(self.path)] if self.is_script() else [str(self.path)]


@dataclasses.dataclass(frozen=True)
class Test:
    entry: Entry
    name: str
    part: str = ""                      # 2/8: the second of 8 processes that share its cases
    alone: str = ""                     # why nothing may run beside it
    skipped: str = ""                   # why it cannot run here

    def label(self):
        return f"{self.entry.name}: {self.name}" + (f" ({self.part})" if self.part else "")


def place_of(binary, build):
    """In a build folder, or where scripts/pack put it."""
    places = (build / "tests" / binary, build / binary)
    return next((place for place in places if place.exists()), places[0])


def entries(build, scripts=ROOT / "tests" / "e2e"):
    found = []
    for name in BINARIES:
        path = place_of(f"test_{name}", build)
        found.append(Entry(f"gpu.{name}", path))
        for variant, environment in VARIANTS.get(name, {}).items():
            if not set(environment) & set(os.environ):
                found.append(Entry(f"gpu.{name}.{variant}", path, tuple(environment.items())))
    found += [Entry(f"e2e.{script.stem}", script)
              for script in sorted(scripts.glob("*_gpu_test.py"))]
    return found


def chosen(all_entries, words):
    """Those whose name or file holds one of the words; all without words."""
    return [e for e in all_entries
            if not words or any(w in e.name or w in e.path.name for w in words)]


def tests_of(entry):
    """Raises OSError or ValueError if its tests cannot be listed."""
    return tests_of_script(entry) if entry.is_script() else tests_of_binary(entry)


def tests_of_script(entry):
    tests = []
    for line in ask(entry, "--list").stdout.splitlines():
        told = json.loads(line)
        count = told["parts"]
        parts = [f"{k + 1}/{count}" for k in range(count)] if count > 1 else [""]
        tests += [Test(entry, told["test"], part, told["alone"], told["skipped"])
                  for part in parts]
    if not tests:
        raise ValueError("lists no test")
    return tests


def tests_of_binary(entry):
    """Catch2 v2 ends with the number of tests, v3 does not know its option."""
    told = ask(entry, "--list-test-names-only", check=False)
    if "--list-test-names-only" in told.stdout + told.stderr:
        told = ask(entry, "--list-tests", "--verbosity", "quiet")
    names = [line for line in told.stdout.splitlines() if line.strip()]
    if not names or told.returncode < 0:
        raise ValueError(f"lists no test: exit code {told.returncode}: {told.stderr[-300:]}")
    return [Test(entry, name) for name in names]


def ask(entry, *options, check=True):
    done = subprocess.run([*entry.command(), *options], capture_output=True, text=True,
                          timeout=SECONDS_TO_LIST)
    if check and done.returncode != 0:
        raise ValueError(f"cannot list its tests: exit code {done.returncode}: "
                         f"{done.stderr[-300:]}")
    return done
