"""Commands as forks (forked.py) do what they do as processes, and what needs a new process gets
one; scripts/times tells of both."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import threading
import time
import unittest.mock

import forked
import starts
from support import BUILD, ROOT, Trainx, main, sha256, tiny

CUT = "parallel={mode: zero2, world_size: 2}"


class Forked(Trainx):
    def both(self, *words, env=None, **how):
        """What a command says as a process and as a fork."""
        said = []
        for self.forks in (False, True):
            before = starts.forks["all"]
            done = self.run_trainx(*words, env=env, **how)
            self.assertEqual(starts.forks["all"] - before, int(self.forks), words)
            said.append((done.returncode, done.stdout, done.stderr))
        return said

    def test_a_fork_says_what_a_process_says(self):
        recipe = self.recipe(tiny())
        (self.folder / "text.txt").write_text("a cat and a dog\r\n" * 40)
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "tok", "--train-vocab", 260)
        tokenize = ("data", "tokenize", "-", "--tokenizer", "tok")
        for words, how in (
            (["validate", recipe, "optimizer.lr=fast", "--json"], {"expect": 78}),
            (["plan", recipe], {}),
            (["train", "--help"], {}),
            (["trian"], {"expect": 2}),
            ([], {"expect": 2}),
            (["train", recipe, "run.seed=x"], {"expect": 78}),
            (["--json", "generate", "outputs/none", "--prompt", "a"], {"expect": 66}),
            (["show", recipe], {"env": self.environment(TRAINX_SET="run.seed=9")}),
            (tokenize, {"text": '{"text": "caf\u00e9\\u0000"}\n'}),
            (tokenize, {"text": "no json\n", "expect": 65}),
        ):
            with self.subTest(words=words):
                process, fork = self.both(*words, **how)
                self.assertEqual(process, fork)

    def test_a_fork_trains_what_a_process_trains(self):
        short = tiny(steps=4, every=2).replace("warmup: 5 steps", "warmup: 1 steps")
        for settings in ((), (CUT,), ("optimizer.lr=1e30",)):
            with self.subTest(settings=settings):
                found = []
                for self.forks in (False, True):
                    name = f"{len(settings)}-{settings[:1] == (CUT,)}-{self.forks}"
                    recipe = self.recipe(short.replace("name: tiny", f"name: {name}"))
                    env = self.environment(OMP_NUM_THREADS="1")
                    code = self.run_trainx("train", recipe, *settings, env=env, expect=None)
                    losses = [m["loss"] for m in self.metrics(name)]
                    saved = self.weights(name)
                    found.append((code.returncode, losses, saved.exists() and sha256(saved)))
                self.assertEqual(*found)
                self.assertEqual(found[0][0], 80 if "1e30" in str(settings) else 0)

    def test_what_needs_a_new_process_gets_one(self):
        plain = self.environment()

        def program(*words, **variables):
            found = forked.program_for(list(words), plain | variables, BUILD)
            return found and found.name

        self.assertEqual(program("train", "r.yaml"), "many_runs")
        self.assertEqual(program("--json", "eval", "outputs/r"), "many_runs")
        self.assertEqual(program("train", "r.yaml", OMP_NUM_THREADS="1"), "many_runs")
        for words in (["plan", "r.yaml"], ["train", "--help"], ["--worker", "w", "train", "r.yaml"],
                      ["--worker=w", "train", "r.yaml"], []):
            self.assertEqual(program(*words), "many_commands", words)
        self.assertEqual(program("train", "r.yaml", TRAINX_WORKER="w"), "many_commands")
        self.assertEqual(program("verify", "r.yaml", LD_LIBRARY_PATH="/x"), None)
        self.assertEqual(program("plan", "r.yaml", LD_LIBRARY_PATH="/x"), "many_commands")
        self.assertEqual(program("plan", "r.yaml", LD_PRELOAD="/x.so"), None)
        self.assertEqual(program("train", "r.yaml", "--nnodes", "2"), None)
        self.assertEqual(program("train", "r.yaml", RANK="1"), None)

    def test_a_fork_has_the_variables_that_its_libraries_read_when_they_were_loaded(self):
        recipe = self.recipe(tiny(steps=1).replace("warmup: 5 steps", "warmup: 0 steps"))
        self.forks = True
        for threads in ("1", "2", "1"):
            env = self.environment(OMP_NUM_THREADS=threads)
            self.run_trainx("train", recipe, f"run.name=t{threads}", "--overwrite", env=env)
            self.assertEqual(forked.idle[-1][1]["OMP_NUM_THREADS"], threads)
        self.assertEqual(len({id(process) for _, _, process in forked.idle}), len(forked.idle))

    def test_a_process_answers_one_thread_at_a_time(self):
        class Process:
            """Stands for a process: it fails if a thread asks or ends it while another one asks."""

            def __init__(self, *_):
                self.process, self.asked = self, threading.Lock()

            def poll(self):
                time.sleep(0)

            def ask(self, *_):
                assert self.asked.acquire(blocking=False)
                time.sleep(1e-4)
                self.asked.release()
                return "answer"

            def close(self):
                assert not self.asked.locked()

        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)             # threads give way to each other at any place
        with (unittest.mock.patch.object(forked, "ManyCommands", Process),
              unittest.mock.patch.object(forked, "idle", []),
              concurrent.futures.ThreadPoolExecutor(6) as pool):
            answers = list(pool.map(lambda _: forked.ask("program", [], "", {}), range(3000)))
        self.assertEqual(answers, ["answer"] * 3000)

    def test_a_command_that_takes_too_long_is_killed_with_its_workers(self):
        endless = tiny(steps=10**7, every=10**7).replace("cosine, warmup: 5 steps", "constant")
        self.forks = True
        recipe = self.recipe(endless)
        done = self.run_trainx("train", recipe, expect=None, timeout=3)
        self.assertEqual(done.returncode, -9)
        self.assertEqual(self.run_trainx("plan", recipe, "-q").returncode, 0)
        left, deadline = ["all"], time.monotonic() + 60
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left = [p for p in pathlib.Path("/proc").glob("[0-9]*/cwd") if self.is_here(p)]
        self.assertEqual(left, [])

    def is_here(self, link):
        """Whether a process works in this test's folder; one that ends has no folder."""
        try:
            return link.readlink() == self.folder.resolve()
        except OSError:
            return False


class Times(Trainx):
    def test_scripts_are_listed_by_their_starts(self):
        (self.folder / "starts").mkdir()
        for name, count in (("a_test", 3), ("b_test", 40)):
            told = {"starts": {"all": count}, "forks": {"all": 7}, "tests": {"T.t": [9.0, 2.5]}}
            (self.folder / "starts" / f"{name}.json").write_text(json.dumps(told))
        done = subprocess.run([sys.executable, ROOT / "scripts" / "times", self.folder, "0"],
                              capture_output=True, text=True, check=True)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertLess(rows.index(["40", "7", "2.5", "b_test"]),
                        rows.index(["3", "7", "2.5", "a_test"]))
        self.assertRegex(done.stdout, r": 43,.* 14 forks\n")


if __name__ == "__main__":
    main()
