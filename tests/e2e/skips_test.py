"""How skipped tests are told: by scripts of tests, by tests/skipped.py after ctest, by entries."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, ROOT, main

SCRIPT = f"""\
import sys, unittest
sys.path.insert(0, {str(ROOT / "tests" / "e2e")!r})
from support import Trainx, main, slow
class Some(Trainx):
    def test_passes(self): pass
    def test_fails(self): self.fail()
    @unittest.skip("no tool")
    def test_skips(self): pass
    def test_skips_late(self): self.skipTest("no second tool")
    def test_skips_in_part(self):
        for i in range(2):
            with self.subTest(i):
                if i: self.skipTest("no third tool")
    @slow("again")
    def test_slow(self): pass
main()
"""
# As ctest 3.25 writes it.
LOG = """\
1/3 Testing: unit.core
1/3 Test: unit.core
Command: "test_core"
Output:
----------------------------------------------------------
tests: {"ran": 40, "failed": 0, "skipped": 1, "why": {"no root": ["mounts"]}}
<end of output>
2/3 Testing: e2e.cluster_test
Output:
tests: {"ran": 0, "failed": 0, "skipped": 5, "why": {"no Slurm": []}}
<end of output>
3/3 Testing: e2e.ended_early
Output:
tests: {"ran": 0, "fai
<end of output>
"""


class Skips(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="trainx-skips-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def said(self, *names, expect, **environment):
        """What a script's last line says."""
        script = self.folder / "some_test.py"
        script.write_text(SCRIPT)
        done = subprocess.run([sys.executable, script, *(f"Some.{name}" for name in names)],
                              capture_output=True, text=True, env=os.environ | environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        return json.loads(done.stdout.splitlines()[-1].removeprefix("tests: "))

    def test_scripts(self):
        self.assertEqual(
            self.said("test_passes", "test_skips", "test_skips_in_part", expect=0),
            {"ran": 2, "failed": 0, "skipped": 1,
             "why": {"no tool": ["Some.test_skips"],
                     "no third tool": ["Some.test_skips_in_part (in part)"]}})
        self.assertEqual(
            self.said("test_skips", "test_skips_late", expect=77),
            {"ran": 0, "failed": 0, "skipped": 2, "why": {"no tool": [], "no second tool": []}})
        self.assertEqual(self.said("test_fails", "test_skips", expect=1),
                         {"ran": 1, "failed": 1, "skipped": 1,
                          "why": {"no tool": ["Some.test_skips"]}})

    def test_of_what_repeats_a_property_one_seed_of_four_runs(self):
        for seed, ran in ((0, 1), (1, 0), (2, 0), (3, 0), (4, 1)):
            with self.subTest(seed=seed):
                told = self.said("test_slow", expect=0 if ran else 77, TRAINX_CASES_SECONDS="0",
                                 TRAINX_TEST_SEED=str(seed))
                self.assertEqual((told["ran"], told["failed"], told["skipped"]), (ran, 0, 1 - ran))
        self.assertEqual(self.said("test_slow", expect=0, TRAINX_CASES_SECONDS="",
                                   TRAINX_TEST_SEED="1")["ran"], 1)

    def test_after_ctest(self):
        log = self.folder / "Testing" / "Temporary" / "LastTest.log"
        log.parent.mkdir(parents=True)
        log.write_text(LOG)
        done = subprocess.run([ROOT / "tests" / "skipped.py", self.folder], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), [
            "skipped: e2e.cluster_test: all of it: no Slurm",
            "skipped: unit.core: mounts: no root",
            "tests that ran: 40; skipped: 6"])
        log.unlink()
        done = subprocess.run([ROOT / "tests" / "skipped.py", self.folder], capture_output=True)
        self.assertEqual(done.returncode, 1)

    @unittest.skipUnless(shutil.which("ctest") and (BUILD / "CTestTestfile.cmake").exists(),
                         "no build folder")
    def test_entries_may_be_skipped(self):
        told = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"],
                              capture_output=True, text=True, check=True).stdout
        entries = {test["name"]: {p["name"]: p["value"] for p in test.get("properties", [])}
                   for test in json.loads(told)["tests"]}
        for name, properties in entries.items():
            if name.startswith(
                ("e2e.reference.", "equality.", "tsan.")) or name == "unit.fuzz_replay":
                continue                # that skip nothing
            self.assertEqual(properties.get("SKIP_RETURN_CODE"), 77, name)
        self.assertIn("e2e.skips_test", entries)


if __name__ == "__main__":
    main()
