"""scripts/gpu_tests with test binaries and scripts that pass, skip, fail, crash, hang and say
nothing; the record of a run in parts; what the tests of a GPU need, and scripts/pack packs."""
import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from support import BUILD, ROOT, main

sys.path.insert(0, str(ROOT / "tests" / "gpu_run"))
import estimates  # noqa: E402
import listing  # noqa: E402
import machine  # noqa: E402
import record  # noqa: E402
import units  # noqa: E402
from pool import Pool  # noqa: E402

ENDINGS = listing.place_of("endings", BUILD)        # of whichever Catch2 is here
# A test binary as Catch2 v2 lists and runs it; a case ends as its first word says.
BINARY = f"""\
#!{sys.executable}
import json, os, pathlib, signal, subprocess, sys, time
names = {{names!r}}
if sys.argv[1] == "--list-test-names-only":
    print(*names, sep="\\n")
    sys.exit(len(names))
def note(**line):
    with open(os.environ["TRAINX_TEST_RECORD"], "a") as file:
        print(json.dumps(line), file=file)
began = time.time()
for name in pathlib.Path(sys.argv[2]).read_text().splitlines():
    name = name.replace(chr(92), "")
    word = name.split()[0]
    if word == "quits":
        sys.exit(0)
    note(test=name, result="began")
    print("begins", name, "sees", os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
    if word == "ends":
        os._exit(0)
    if word == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "hangs":
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        time.sleep(1000)
    time.sleep(float(os.environ.get("TEST_TAKES", "0")))
    result = dict(passes="passed", skips="skipped", fails="failed", lacks="skipped")[word]
    why = dict(skips="too old a GPU", lacks="no GPU on this machine").get(word, "")
    note(test=name, result=result, seconds=0.25, why=why)
if times := os.environ.get("TEST_TIMES"):
    with open(times, "a") as file:
        print(pathlib.Path(sys.argv[0]).name, began, time.time(), file=file)
sys.exit({{code}})
"""
SCRIPT = f"""\
import os, sys, time, unittest
sys.path.insert(0, {str(ROOT / "tests" / "e2e")!r})
import outcome
from gpu_checks import alone, in_parts, part_of
class Some(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.fail("it fails")
    @unittest.skip("takes two GPUs")
    def test_skipped(self): pass
    @alone("measures")
    def test_alone(self): pass
    @in_parts(2)
    def test_in_parts(self): print("case", *part_of("abc"), flush=True)
outcome.main()
"""

SEEN = f"""\
import sys, unittest
sys.path.insert(0, {str(ROOT / "tests" / "e2e")!r})
from gpu_checks import needs_gpus
from support import Trainx
@needs_gpus(1)
class Seen(Trainx):
    on_gpu = True
    def tell(self): print("sees", self.environment()["CUDA_VISIBLE_DEVICES"])
    def test_of_one(self): self.tell()
    @needs_gpus(2)
    def test_of_two(self): self.tell()
    @needs_gpus(1, most=4)
    def test_of_all(self): self.tell()
unittest.main()
"""


def executable(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class GpuTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="trainx-gpu-tests-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.numbers = itertools.count()
        self.said = []

    def binary(self, *names, code=0, name="kernels"):
        path = self.folder / f"test_{name}"
        return listing.Entry(f"gpu.{name}", executable(path, BINARY.format(names=names, code=code)))

    def script(self):
        path = self.folder / "some_gpu_test.py"
        path.write_text(SCRIPT)
        return listing.Entry("e2e.some_gpu_test", path)

    def pool(self, slots=2, seconds=60, gpus=(), **environment):
        folder = self.folder / f"run-{next(self.numbers)}"
        folder.mkdir()
        return Pool(folder, slots, time.monotonic() + seconds, os.environ | environment,
                    self.said.append, gpus)

    def results(self, entry, limit=60, pool=None):
        """{test: result} of all tests of an entry in one process."""
        tests = listing.tests_of(entry)
        unit = units.Unit(tests, estimate=1)
        units.LEAST_LIMIT, before = limit, units.LEAST_LIMIT
        try:
            self.rows = (pool or self.pool()).run([unit])
        finally:
            units.LEAST_LIMIT = before
        self.assertEqual(sorted(r["test"] for r in self.rows), sorted(t.name for t in tests))
        return {row["test"]: row["result"] for row in self.rows}

    def why(self, test):
        return next(row["why"] for row in self.rows if row["test"] == test)


class Endings(GpuTests):
    def test_each_test_has_its_result(self):
        got = self.results(self.binary("passes", "skips", "fails", code=1))
        self.assertEqual(got, {"passes": "passed", "skips": "skipped", "fails": "failed"})
        self.assertEqual(self.why("skips"), "too old a GPU")
        self.assertEqual([row["seconds"] for row in self.rows], [0.25] * 3)

    def test_a_crash_costs_no_other_test(self):
        got = self.results(self.binary("passes", "crashes", "passes too", "crashes too", "fails",
                                       code=1))
        self.assertEqual(got, {"passes": "passed", "crashes": "failed", "passes too": "passed",
                               "crashes too": "failed", "fails": "failed"})
        self.assertIn("SIGSEGV", self.why("crashes"))

    def test_an_end_of_the_process_costs_no_other_test(self):
        self.assertEqual(self.results(self.binary("passes", "ends", "passes too")),
                         {"passes": "passed", "ends": "failed", "passes too": "passed"})

    def test_a_hang_costs_no_other_test_and_leaves_no_process(self):
        pool = self.pool()
        got = self.results(self.binary("passes", "hangs", "passes too"), limit=2, pool=pool)
        self.assertEqual(got, {"passes": "passed", "hangs": "timeout", "passes too": "passed"})
        marks = {f"TRAINX_GPU_UNIT={os.getpid()}-{n}".encode() for n in range(1, pool.count + 1)}
        for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                self.assertFalse(marks & set(environ.read_bytes().split(b"\0")), environ)
            except OSError:
                pass                    # ended, or another's

    def test_a_test_that_the_process_does_not_know_has_not_passed(self):
        self.assertEqual(self.results(self.binary("passes", "quits")),
                         {"passes": "passed", "quits": "failed"})

    def test_a_process_that_says_nothing_has_not_passed(self):
        for code in (0, 3, 77):
            with self.subTest(code=code):
                entry = self.binary("passes")
                text = entry.path.read_text().replace("def note", f"sys.exit({code})\ndef note")
                entry.path.write_text(text)
                self.assertEqual(self.results(entry), {"passes": "failed"})

    def test_an_exit_code_after_the_last_test_counts(self):
        self.assertEqual(self.results(self.binary("passes", code=9)), {"passes": "failed"})
        self.assertIn("9", self.why("passes"))
        # 1 without a test that failed
        self.assertEqual(self.results(self.binary("passes", code=1)), {"passes": "failed"})

    def test_a_test_that_finds_no_gpu_beside_one_that_is_listed_has_not_passed(self):
        self.assertEqual(self.results(self.binary("lacks a GPU", code=77)),
                         {"lacks a GPU": "failed"})

    def test_what_has_no_time_left_is_told(self):
        entry = self.binary("passes")
        self.assertEqual(self.results(entry, pool=self.pool(seconds=0)), {"passes": "no time"})
        hangs = self.pool(seconds=3)
        self.assertEqual(self.results(self.binary("hangs"), pool=hangs), {"hangs": "no time"})

    def test_methods_of_a_script(self):
        tests = {(t.name, t.part): t for t in listing.tests_of(self.script())}
        self.assertEqual(sorted(tests), [
            ("Some.test_alone", ""), ("Some.test_fails", ""), ("Some.test_in_parts", "1/2"),
            ("Some.test_in_parts", "2/2"), ("Some.test_passes", ""), ("Some.test_skipped", "")])
        self.assertEqual(tests["Some.test_alone", ""].alone, "measures")
        self.assertEqual(tests["Some.test_skipped", ""].skipped, "takes two GPUs")
        pool = self.pool()
        rows = pool.run(units.units_of(list(tests.values()), {}))
        self.assertEqual({(r["test"], r["part"]): r["result"] for r in rows}, {
            name: {"Some.test_fails": "failed", "Some.test_skipped": "skipped"}.get(
                name[0], "passed") for name in tests})
        logs = [path.read_text() for path in pool.folder.glob("*parts*.log")]
        self.assertEqual(sorted(re.findall(r"case \w( \w)?", "".join(logs))), ["", " c"])
        self.assertIn("it fails", "\n".join(self.said))     # of the log of what failed

    @unittest.skipUnless(ENDINGS.exists(), "the build has no tests")
    def test_cases_of_catch2(self):
        entry = listing.Entry("gpu.endings", ENDINGS)
        shown = ["passes", "passes, with a comma and [brackets]", "skips", "skips in part"]
        self.assertEqual([t.name for t in listing.tests_of(entry)], shown)
        hidden = ["fails as often as 77 times", "crashes", "ends the process", "hangs"]
        tests = [listing.Test(entry, name) for name in (*shown, *hidden)]
        units.LEAST_LIMIT, before = 5, units.LEAST_LIMIT
        try:
            rows = self.pool().run([units.Unit(tests, 1)])
        finally:
            units.LEAST_LIMIT = before
        self.assertEqual({row["test"]: row["result"] for row in rows}, dict(zip(
            (*shown, *hidden), ("passed", "passed", "skipped", "passed", "failed", "failed",
                                "failed", "timeout"))))
        for words, code in ((["skips"], 77), (["passes,skips"], 0), (["fails*"], 1),
                            (["passes,finds no GPU"], 77), (["fails*,finds no GPU"], 1)):
            done = subprocess.run([ENDINGS, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertTrue(done.stdout.splitlines()[-1].startswith("tests: {"), done.stdout)


class Cuts(GpuTests):
    def made_up(self, count, name="kernels", **how):
        entry = listing.Entry(f"gpu.{name}", pathlib.Path(name))
        return [listing.Test(entry, f"test {k}", **how) for k in range(count)]

    def test_shards_hold_each_test_once_and_take_as_long(self):
        tests = self.made_up(40)
        recorded = {("gpu.kernels", t.name): 1 + k % 7 for k, t in enumerate(tests)}
        cut = units.units_of(tests, recorded)
        self.assertEqual(sorted(t.name for u in cut for t in u.tests),
                         sorted(t.name for t in tests))
        took = [sum(recorded["gpu.kernels", t.name] for t in u.tests) for u in cut]
        self.assertGreater(len(took), 3)
        self.assertLess(max(took) - min(took), 7)

    def test_parts_hold_each_unit_once_and_are_the_same_in_each_call(self):
        cut = units.units_of(self.made_up(200), {}) + units.units_of(self.made_up(20, "blocks"), {})
        first, second = (units.part_of(cut, k, 2, 8) for k in (1, 2))
        self.assertEqual(sorted(u.label() for u in first + second),
                         sorted(u.label() for u in cut))
        self.assertEqual([u.label() for u in units.part_of(cut, 1, 2, 8)],
                         [u.label() for u in first])
        totals = [sum(u.estimate for u in part) for part in (first, second)]
        self.assertLess(max(totals), 1.2 * min(totals))

    def test_nothing_runs_beside_what_runs_alone(self):
        cut = []
        for name in ("kernels", "blocks", "libraries"):
            entry = self.binary("passes", name=name)
            alone = "measures" if name == "blocks" else ""
            cut += units.units_of([listing.Test(entry, "passes", alone=alone)], {})
        self.assertEqual([u.alone for u in cut], [False, True, False])
        times = self.folder / "times"
        self.pool(slots=3, TEST_TAKES="0.5", TEST_TIMES=str(times)).run(cut)
        began, ended = {}, {}
        for line in times.read_text().splitlines():
            name, *spans = line.split()
            began[name], ended[name] = map(float, spans)
        self.assertEqual(sorted(began), ["test_blocks", "test_kernels", "test_libraries"])
        self.assertLess(max(began["test_kernels"], began["test_libraries"]),
                        min(ended["test_kernels"], ended["test_libraries"]))
        self.assertLess(max(ended["test_kernels"], ended["test_libraries"]), began["test_blocks"])

    def test_gpus_are_taken_in_turns(self):
        entries = [self.binary("passes", name=name) for name in ("kernels", "blocks", "libraries")]
        pool = self.pool(slots=3, gpus=("5", "7"), TEST_TAKES="0.5")
        pool.run([unit for entry in entries
                  for unit in units.units_of([listing.Test(entry, "passes")], {})])
        logs = "".join(path.read_text() for path in pool.folder.glob("*.log"))
        self.assertEqual(sorted(re.findall(r"sees (\S+)", logs)), ["5,7", "5,7", "7,5"])


class Records(GpuTests):
    def row(self, test, result="passed", entry="gpu.kernels", part="", seconds=1.5, why=""):
        return {"entry": entry, "test": test, "part": part, "result": result, "seconds": seconds,
                "why": why}

    def parts(self, *changes):
        """JSON of two parts."""
        rows = [[self.row("one | two"), self.row("half", part="1/2", seconds=2)],
                [self.row("three", "skipped", why="takes two GPUs"),
                 self.row("half", "failed", part="2/2", seconds=3, why="it fails")]]
        of = sorted([r["entry"], r["test"], r["part"]] for half in rows for r in half)
        told = dict.fromkeys(record.FACTS, "x") | {"gpu": "NVIDIA H200", "date": "2026-01-02"}
        files = []
        for k, half in enumerate(rows, 1):
            change = changes[k - 1] if k <= len(changes) else {}
            files.append(self.folder / f"{k}.json")
            record.write_part(files[-1], told | change, f"{k}/2", of, half, 10 * k)
        return [json.loads(file.read_text()) for file in files]

    def test_a_page_tells_every_test_and_its_seconds_can_be_read(self):
        document = record.merged(self.parts())
        page = self.folder / "h200" / "tests.md"
        record.write_page(page, document)
        self.assertEqual(record.read_seconds(page), {("gpu.kernels", "one | two"): 1.5})
        text = page.read_text()
        for line in (r"| gpu.kernels | half | failed | it fails |",
                     r"| gpu.kernels | three | skipped | takes two GPUs |",
                     r"| one \| two | passed | 1.5 |", "| half | failed | 5.0 |",
                     "| seconds | 10 + 20 |"):
            self.assertIn(line + "\n", text)
        self.assertEqual(record.page_of("NVIDIA H200", self.folder), page)

    def test_parts_of_different_runs_are_refused(self):
        first, second = self.parts()
        for parts in ([first], [first, first], [first, second, second],
                      self.parts({"commit": "y"}), self.parts({"gpu": "z"})):
            with self.assertRaises(ValueError):
                record.merged(parts)

    def test_a_later_run_replaces_what_it_ran_again(self):
        first = self.parts()
        again = [{**part, "commit": "later", "seconds": 7} for part in self.parts()[:1]]
        again[0]["of"] = sorted(record.key(row) for row in again[0]["rows"])
        for row in again[0]["rows"]:
            row.update(result="failed", seconds=3)
        document = record.merged([*first, *again])
        before = {record.key(row): row for part in first for row in part["rows"]}
        replaced = {record.key(row) for row in again[0]["rows"]}
        self.assertEqual({record.key(row) for row in document["rows"]}, set(before))
        for row in document["rows"]:
            if record.key(row) in replaced:
                self.assertEqual((row["result"], row["seconds"]), ("failed", 3))
            else:
                self.assertEqual(row, before[record.key(row)])
        self.assertEqual(document["commit"], f"{first[0]['commit']}, later")
        self.assertEqual(document["seconds"][-1], 7)

    def test_folders_of_gpus(self):
        for name, folder in (("NVIDIA H200", "h200"), ("NVIDIA H100 80GB HBM3", "h100"),
                             ("NVIDIA A100-SXM4-80GB", "a100"), ("NVIDIA L4", "l4"),
                             ("NVIDIA GeForce RTX 4090", "4090")):
            self.assertEqual(machine.folder_of(name), folder)


class CommandLine(GpuTests):
    """With an nvidia-smi that lists one GPU, and a build of binaries alone."""
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        self.out = self.folder / "out"
        self.out.mkdir()
        self.gpus("NVIDIA H200, 580.1")

    def gpus(self, *lines):
        executable(self.folder / "bin" / "nvidia-smi",
                   "#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines)
                   + ("" if lines else "exit 9\n"))

    def environment(self):
        env = {name: value for name, value in os.environ.items()
               if name not in ("CUDA_VISIBLE_DEVICES", "TRAINX_TEST_SHARED_MEMORY_KIB")}
        return env | {"PATH": f"{self.folder / 'bin'}:{env['PATH']}", "OUT": str(self.out),
                      "TRAINX_BUILD_DIR": str(self.folder), "TRAINX_REFERENCE_PYTHON": ""}

    @contextlib.contextmanager
    def started(self, *words):
        """With all that it started ended at the end."""
        process = subprocess.Popen([ROOT / "scripts" / "gpu_tests", *words], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.environment())
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            mark = f"TRAINX_GPU_UNIT={process.pid}-".encode()
            for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
                with contextlib.suppress(OSError):
                    if mark in environ.read_bytes():
                        os.kill(int(environ.parent.name), signal.SIGKILL)

    def run_it(self, *words, expect=0, **environment):
        done = subprocess.run([ROOT / "scripts" / "gpu_tests", *words], capture_output=True,
                              text=True, env=self.environment() | environment, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def closing(self, done):
        return json.loads(done.stdout.splitlines()[-1].removeprefix("tests: "))

    def test_without_a_gpu_nothing_is_green(self):
        self.binary("passes")
        self.gpus()
        self.run_it("test_kernels", expect=77)
        self.gpus("NVIDIA H200, 580.1")
        self.run_it("test_kernels", expect=77, CUDA_VISIBLE_DEVICES="")

    def test_a_run_counts_and_names_what_was_skipped(self):
        self.binary("passes", "skips")
        told = self.closing(self.run_it("gpu.kernels"))
        self.assertEqual((told["ran"], told["failed"], told["skipped"]), (2, 0, 2))
        self.assertEqual(told["why"], {"too old a GPU": ["gpu.kernels: skips",
                                                         "gpu.kernels.99_kib: skips"]})
        self.assertIn("| gpu.kernels.99_kib | skips | skipped | too old a GPU |",
                      (self.out / "tests.md").read_text())
        self.assertTrue((self.out / "gpu-tests-1-of-1-logs.tar.gz").exists())
        self.binary("skips")
        self.run_it("gpu.kernels", expect=77)

    def test_a_binary_that_is_not_there_has_not_passed(self):
        self.binary("passes")
        told = self.closing(self.run_it("gpu.kernels", "gpu.blocks", expect=1))
        self.assertEqual((told["ran"], told["failed"]), (3, 1))

    def test_parts_of_a_run_become_a_page(self):
        names = [f"passes {k}" for k in range(40)]
        self.binary(*names)
        for part in ("1/2", "2/2"):
            self.run_it("gpu.kernels", "--part", part)
        files = sorted(self.out.glob("*.json"))
        self.assertEqual(len(files), 2)
        document = record.merged([json.loads(file.read_text()) for file in files])
        self.assertEqual(sorted((r["entry"], r["test"]) for r in document["rows"]),
                         sorted((e, n) for e in ("gpu.kernels", "gpu.kernels.99_kib")
                                for n in names))
        self.run_it("--merge", str(files[0]), expect=1)     # no page of a half

    def test_a_call_that_is_ended_from_outside_leaves_what_it_had(self):
        self.binary("passes", name="blocks")
        self.binary("hangs")
        with self.started("gpu.kernels", "gpu.blocks") as process:
            path = self.out / "gpu-tests-1-of-1.json"
            while not (path.exists() and "passed" in path.read_text()):
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.kill()
        rows = json.loads(path.read_text())["rows"]
        self.assertEqual({(r["entry"], r["test"]): r["result"] for r in rows},
                         {("gpu.blocks", "passes"): "passed", ("gpu.kernels", "hangs"): "no time",
                          ("gpu.kernels.99_kib", "hangs"): "no time"})

    def test_what_is_left_of_parts_is_run_alone(self):
        self.binary("passes", "fails")
        self.run_it("gpu.kernels", expect=1)
        [first] = self.out.glob("*.json")
        first = first.rename(self.folder / "first.json")
        self.assertEqual({(entry, test) for entry, test, _ in
                          record.lost([json.loads(first.read_text())])},
                         {("gpu.kernels", "fails"), ("gpu.kernels.99_kib", "fails")})
        told = self.closing(self.run_it("--left", str(first), expect=1))
        self.assertEqual((told["ran"], told["failed"]), (2, 2))
        [again] = self.out.glob("*.json")
        both = [json.loads(file.read_text()) for file in (first, again)]
        self.assertEqual(len(record.merged(both)["rows"]), 4)
        for row in both[1]["rows"]:
            row["result"] = "passed"
        again.write_text(json.dumps(both[1]))
        self.run_it("--left", str(first), str(again), expect=1)         # nothing is left

    def test_commands_see_the_gpus_that_their_test_asks_for(self):
        self.gpus("GPU 0", "GPU 1", "GPU 2")
        script = executable(self.folder / "seen.py", SEEN)
        env = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        env["PATH"] = f"{self.folder / 'bin'}:{env['PATH']}"
        for given, want in (({}, "0 0,1 0,1,2"), ({"CUDA_VISIBLE_DEVICES": "7,5"}, "7 7,5 7,5")):
            done = subprocess.run([sys.executable, script], capture_output=True, text=True,
                                  env=env | given)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(re.findall(r"sees (\S*)", done.stdout), key=len), want.split())

    def test_what_is_asked_wrongly_is_refused(self):
        for words, code in ((("--part", "3/2"), 2), (("--part", "x"), 2), (("--jobs", "0"), 2),
                            (("nothing-of-this-name",), 1), (("--merge",), 1),
                            (("--left",), 1)):
            self.run_it(*words, expect=code)


class Packed(unittest.TestCase):
    """What the tests of a GPU need is in the pack, and what CMake builds for a GPU is run."""
    def test_binaries(self):
        cmake = (ROOT / "tests" / "CMakeLists.txt").read_text()
        built = re.findall(r"^gpu_test\((\w+)", cmake, re.M)
        self.assertEqual(sorted(built), sorted(listing.BINARIES))
        [packed] = re.findall(r"^tests=\(test_\{(.*)\}\)", self.pack(), re.M)
        self.assertEqual(sorted(packed.split(",")), sorted(built))
        for name, variants in listing.VARIANTS.items():
            for variant in variants:
                self.assertIn(f"gpu.{name}.{variant} ", cmake)

    def test_workers(self):
        scripts = [*(ROOT / "tests" / "e2e").glob("*_gpu_test.py"),
                   ROOT / "tests" / "e2e" / "own_modules.py"]
        used = {name for script in scripts
                for name in re.findall(r'"(\w+(?:-\w+)*)-worker"', script.read_text())}
        self.assertGreaterEqual(used, {"math", "net"})
        [packed] = re.findall(r"^workers=\(\{(.*)\}-worker\)", self.pack(), re.M)
        self.assertEqual(used - {"trainx"}, set(packed.split(",")))

    def test_estimates_are_of_tests_that_there_are(self):
        found = {entry.name: entry for entry in listing.entries(BUILD)}
        for entry, starts in estimates.OF_TESTS.items():
            names = [test.name for test in listing.tests_of(found[entry])]
            for start in starts:
                self.assertTrue(any(name.startswith(start) for name in names), start)

    def pack(self):
        return (ROOT / "scripts" / "pack").read_text()


if __name__ == "__main__":
    main()
