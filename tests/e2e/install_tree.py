"""What tests of examples share: trainx installed to a folder, and examples built against it."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import support
from support import BUILD, ROOT, Trainx


class InstallTree(Trainx):
    EXAMPLES = ()       # folders of examples/, or of tests/workers/
    WORKER = ""         # which of their programs is the worker

    @classmethod
    def setUpClass(cls):
        """Installs, and builds the examples against the install tree."""
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="trainx-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)

        # Compiled once for all places, where there is a compiler cache.
        ccache = shutil.which("ccache")
        launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if ccache else []
        environment = os.environ | {"CCACHE_BASEDIR": str(cls.place), "CCACHE_NOHASHDIR": "1"}

        def run(*command):
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                                  env=environment)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

        began = time.monotonic()
        run("cmake", "--install", BUILD, "--prefix", cls.place / "first")
        # nothing in it knows where it was installed
        (cls.place / "first").rename(cls.place / "trainx")
        for example in cls.EXAMPLES:
            folders = [ROOT / "examples" / example, ROOT / "tests" / "workers" / example]
            source = next(f for f in folders if f.is_dir())
            run("cmake", "-S", source, "-B", cls.place / "build" / example, "-G", "Ninja",
                f"-DCMAKE_PREFIX_PATH={cls.place / 'trainx'}", *launcher)
            run("cmake", "--build", cls.place / "build" / example)
        print(f"installed and built in {time.monotonic() - began:.0f} s")
        cls.worker = cls.built(cls.WORKER)

    @classmethod
    def built(cls, program):
        """A program of one of the examples."""
        places = [cls.place / "build" / example / program for example in cls.EXAMPLES]
        return str(next(p for p in places if p.is_file()))

    def setUp(self):
        super().setUp()
        self._trainx, support.TRAINX = support.TRAINX, str(self.place / "trainx" / "bin" / "trainx")
        self.addCleanup(setattr, support, "TRAINX", self._trainx)

    def environment(self, **more):
        return super().environment(XDG_CACHE_HOME=str(self.folder / "cache"), **more)

    def ask(self, *args, **how):
        return self.run_trainx("--worker", self.worker, *args, **how)

    def assert_close(self, got, want, tolerance):
        self.assertEqual(len(got), len(want))
        for step, (a, b) in enumerate(zip(got, want)):
            near = a == b or abs(a / b - 1) <= tolerance
            self.assertTrue(near, f"step {step + 1}: {a} and {b}")
