"""scripts/trainx with builds that a stand-in of ninja plays: what it says of them."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import ROOT, main


class StartScript(unittest.TestCase):
    def start(self, lines, code=0):
        """Its stderr and exit code, if ninja prints `lines` and ends with `code`."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "scripts").mkdir()
        (folder / "build" / "bin").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "trainx", folder / "scripts")
        said = "".join(f"echo '{line}'\n" for line in lines)
        for path, text in (("scripts/setup", "exit 0"), ("ninja", f"{said}exit {code}"),
                           ("build/bin/trainx", 'echo "ran $*"')):
            (folder / path).write_text(f"#!/bin/sh\n{text}\n")
            (folder / path).chmod(0o755)
        done = subprocess.run([folder / "scripts" / "trainx", "plan", "mine.yaml"], text=True,
                              env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, code and 1)
        self.assertEqual(done.stdout, "" if code else "ran plan mine.yaml\n")
        return done.stderr

    def test_nothing_is_said_where_nothing_is_built(self):
        self.assertEqual(self.start(["[0/2] Re-checking globbed directories...",
                                     "[1/4] cmake -P WriteCommit.cmake"]), "")

    def test_a_build_shows_how_far_it_is(self):
        said = self.start([f"[{k}/40] c++ file" for k in range(41)]).splitlines()
        self.assertEqual(said[-1], "trainx: building, 40 of 40 files")
        self.assertTrue(5 <= len(said) <= 11, said)

    def test_a_failed_build_says_why(self):
        said = self.start(["[1/4] cmake", "[2/4] c++ a.cpp", "a.cpp:1: no such thing"], code=1)
        self.assertIn("a.cpp:1: no such thing", said)
        self.assertIn("build.log", said)


if __name__ == "__main__":
    main()
