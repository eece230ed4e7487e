"""What the end-to-end tests share: running trainx as a user does, small recipes, token files."""
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import forked
import golden
import outcome
import starts
from gpu_checks import visible_gpus
from processes import children_of, is_alive, wait_for_state

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRAINX_BUILD_DIR", ROOT / "build"))
TRAINX = str(next((p for p in (BUILD / "bin" / "trainx", BUILD / "trainx") if p.exists()), BUILD / "bin" / "trainx"))   # beside the tests where scripts/pack put it
MANY_COMMANDS = BUILD / "tests" / "many_commands"
starts.count_starts(TRAINX)
MEASURED = ROOT / "tests" / "data" / "measured"
LONG = os.environ.get("TRAINX_LONG") == "1"
BUDGET = float(os.environ["TRAINX_CASES_SECONDS"]) if os.environ.get("TRAINX_CASES_SECONDS") else None
SLOW_SHARE = 4

TINY = """\
run: {{name: tiny, seed: {seed}, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: {dropout}}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: {precision}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: cosine, warmup: 5 steps}}
checkpoint: {{every: {every} steps, keep_last: 2}}
eval: {{every: 20 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""


def tiny(steps=20, every=10, seed=1, dropout=0.1, precision="fp32"):
    return TINY.format(steps=steps, every=every, seed=seed, dropout=dropout, precision=precision)


def slow(repeats):
    """Marks a test that repeats a property which another test shows: `repeats` says with what. A
    run with a budget (TRAINX_CASES_SECONDS) takes one of SLOW_SHARE of them, drawn by the seed."""
    def mark(test):
        test.repeats = repeats
        return test
    return mark


def sampled(test):
    """Marks a test of one property with many cases (self.drawn)."""
    return test


def seed_of(test_id):
    """TRAINX_TEST_SEED; else by the test's name and TRAINX_DRAW, which names the commit; else drawn."""
    given, draw = os.environ.get("TRAINX_TEST_SEED"), os.environ.get("TRAINX_DRAW")
    if given:
        return int(given)
    if draw:
        return int.from_bytes(hashlib.sha256(f"{draw} {test_id}".encode()).digest()[:4], "big") // 2
    return random.SystemRandom().randrange(2**31)


class Draws:
    """Cases in a drawn order: `few` of them, and further ones until a budget of seconds is spent."""
    def __init__(self, cases, few, spent, budget):
        self.cases, self.few, self.spent, self.budget = cases, min(few, len(cases)), spent, budget

    def __iter__(self):
        for number, case in enumerate(self.cases):
            if number >= self.few and self.spent() >= self.budget:
                return
            yield case

    def __len__(self):
        return self.few

    def __getitem__(self, index):
        return self.cases[:self.few][index]


@functools.cache
def version():
    """Of trainx."""
    return subprocess.run([TRAINX, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def read_measured(path):
    """A file of tests/data/measured; the rows of a .jsonl."""
    text = (MEASURED / path).read_text()
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def write_tokens(path, ids):
    """llm.c's format: 256 int32 header (magic, version, count), then uint16."""
    header = [20240520, 1, len(ids)] + [0] * 253
    pathlib.Path(path).write_bytes(struct.pack("<256i", *header) + struct.pack(f"<{len(ids)}H", *ids))


class Refusal:
    """What a command that ended with an error said: its exit code, its sentence, and its problems with file, line, column and key."""
    def __init__(self, done):
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event":"error"')]
        event = events[-1] if events else {"message": done.stderr}
        self.done, self.code, self.message, self.problems = done, done.returncode, event["message"], event.get("problems", [])

    def text(self):
        """All that was said, without the colours and places of a terminal."""
        return "\n".join([self.message, *(f"{p['key']}: {p['message']}" for p in self.problems)])

    def keys(self):
        return [problem["key"] for problem in self.problems]

    def names(self, word):
        """Whether a key, option, file or number is named, not as a part of another."""
        return word in self.keys() or re.search(rf"(?<![\w.-]){re.escape(str(word))}(?![\w-])", self.text()) is not None

    def place(self, key):
        """(line, column) of the problem with a key; None if there is no such problem or it has no line."""
        return next(((p["line"], p["column"]) for p in self.problems if p["key"] == key and p["line"]), None)


class Timed(unittest.TestCase):
    """Each test tells what it took, also to scripts/times."""

    def setUp(self):
        self.began, self.used = time.monotonic(), starts.processor_seconds()
        self.addCleanup(self.tell_cost)

    def tell_cost(self):
        used = starts.processor_seconds() - self.used
        starts.tests[self.id().removeprefix("__main__.")] = [self.seconds(), used]
        print(f"[{self.id()}] {self.seconds():.1f} s, {used:.1f} s of processors")

    def seconds(self):
        """Since the test began."""
        return time.monotonic() - self.began


class Trainx(Timed):
    """Each test works in a folder of its own."""
    on_gpu = False                      # these tests hold on a CPU, also where there is a GPU
    gpus = 1                            # that their commands see (gpu_checks.needs_gpus)
    forks = False                       # commands that run_trainx waits for need no new process (forked.py)

    def setUp(self):
        test = getattr(self, self._testMethodName)
        self.seed = seed_of(self.id())
        if BUDGET is not None and hasattr(test, "repeats") and self.seed % SLOW_SHARE:
            self.skipTest(f"drawn by other commits: it repeats a property {test.repeats}")
        super().setUp()
        self._folder = tempfile.TemporaryDirectory(prefix="trainx-e2e-")
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.random = random.Random(self.seed)
        print(f"[{self.id()}] TRAINX_TEST_SEED={self.seed}")

    def drawn(self, cases, few=1, more=None):
        """Cases in an order drawn by the seed: all of them, or `more` unless TRAINX_LONG asks for
        all. With a budget (TRAINX_CASES_SECONDS): `few`, and further ones until the test has taken
        that long."""
        cases = list(cases)
        count = len(cases) if LONG or more is None else min(more, len(cases))
        cases = random.Random(self.seed).sample(cases, count)
        if BUDGET is None:
            return cases
        return Draws(cases, few, self.seconds, BUDGET)

    def recipe(self, text, name="tiny.yaml"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TRAINX_SET", "TRAINX_LOG", "SLURM_"))}
        test = getattr(self, self._testMethodName)
        seen = visible_gpus()[:getattr(test, "gpus", self.gpus)] if self.on_gpu else []
        env["CUDA_VISIBLE_DEVICES"] = ",".join(seen)
        env.update(more)
        return env

    def fake_nvml(self, *flags):
        """A folder for LD_LIBRARY_PATH, with a library that speaks of two GPUs."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        folder = self.folder / "nvml"
        folder.mkdir()
        subprocess.run([compiler, "-shared", "-fPIC", "-pthread", *flags, "-o", folder / "libnvidia-ml.so.1", ROOT / "tests" / "e2e" / "fake_nvml.c"], check=True)
        return str(folder)

    def run_trainx(self, *args, expect=0, env=None, timeout=600, text=None, cwd=None):
        """A command as a user gives it; `text` is its stdin."""
        words, env, folder = [str(word) for word in args], env or self.environment(), cwd or self.folder
        fork = self.forks and not self.on_gpu and forked.program_for(words, env, BUILD)
        if fork:
            more = {} if text is None else {"input": text}
            done = forked.run(fork, words, folder, env, seconds=timeout, **more)
        else:
            done = subprocess.run([TRAINX, *words], cwd=folder, capture_output=True, text=True, env=env, timeout=timeout, input=text)
        if expect is not None:
            self.assertEqual(done.returncode, expect, f"trainx {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done

    def run_many(self, commands, env=None, cwd=None, **limits):
        """What each command wrote, its exit code and what it took (forked.ManyCommands.ask): forks
        of one process without LibTorch."""
        return [forked.ask(MANY_COMMANDS, words, cwd or self.folder, env or self.environment(), **limits) for words in commands]

    def refused(self, *args, code=78, key=None, place=None, names=(), sentence=None, numbers="exact", **how):
        """Runs trainx, which ends with `code` and names a key (at a place: line, column) and other words: options, files, numbers.
        `sentence` is the key in tests/golden/sentences.json under which the whole sentence is held."""
        refusal = Refusal(self.run_trainx(*args, "--json", expect=code, **how))
        for word in [key] * (key is not None) + (list(names) if isinstance(names, (list, tuple)) else [names]):
            self.assertTrue(refusal.names(word), f"{word} is not named: {refusal.message}\n{refusal.problems}")
        if place is not None:
            self.assertEqual(refusal.place(key), place, refusal.problems)
        if sentence is not None:
            self.check_sentence(sentence, refusal.message, numbers)
        return refusal

    def check_sentence(self, key, text, numbers="exact"):
        """Holds a whole sentence in tests/golden/sentences.json; see golden.py."""
        problem = golden.difference(key, golden.normalised(text, self.folder, numbers))
        self.assertIsNone(problem, problem)

    def start_trainx(self, *args):
        """A command that goes on beside the test, and ends with it. It heeds SIGHUP, also where the
        tests run under nohup."""
        process = subprocess.Popen(
            [TRAINX, *map(str, args)],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment(),
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def kill(self, process):
        """SIGKILL to a launcher. Its workers end by that; they hold the run's folder until then."""
        process.send_signal(signal.SIGSTOP)         # so that it starts no more
        wait_for_state(process.pid, "TZX")
        left = children_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 30
        while (left := [pid for pid in left if is_alive(pid)]) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(left, [])

    def metrics(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m for m in map(json.loads, lines) if "loss" in m]

    def status(self, run):
        return json.loads((self.folder / "outputs" / run / "status.json").read_text())

    def weights(self, run, checkpoint="latest"):
        return self.folder / "outputs" / run / checkpoint / "model.safetensors"


main = outcome.main
