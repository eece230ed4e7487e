"""The packages that scripts/package makes, in fresh environments: a wheel beside torch, an archive,
a source archive.

Nothing here uses the source tree once the packages are made. torch itself is not downloaded: the
one that trainx was built with is linked into each environment.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

from support import BUILD, ROOT, main

CACHE = BUILD / "CMakeCache.txt"
STUB = {
    "METADATA": "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "INSTALLER": "test\n",
    "RECORD": "",
}


def torch_folder():
    found = re.search(r"^TRAINX_TORCH_DIR:PATH=(.*)$", CACHE.read_text(), re.M)
    return pathlib.Path(found[1])


def run(*words, expect=0, **how):
    done = subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=300, **how
    )
    assert (
        expect is None or done.returncode == expect
    ), f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@unittest.skipUnless(CACHE.exists(), "packages are made of a build folder")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="trainx-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.dist = cls.place / "dist"
        began = time.monotonic()
        run(
            ROOT / "scripts" / "package",
            "--no-build",
            env={**os.environ, "TRAINX_BUILD_DIR": str(BUILD), "TRAINX_DIST_DIR": str(cls.dist)},
        )
        cls.wheel = next(cls.dist.glob("*.whl"))
        cls.archive = next(cls.dist.glob("*-linux-x86_64.tar.gz"))
        sizes = ", ".join(
            f"{p.name} {p.stat().st_size / 2**20:.0f} MiB" for p in (cls.wheel, cls.archive)
        )
        print(f"packaged in {time.monotonic() - began:.0f} s: {sizes}")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="elsewhere-", dir=self.place))

    def environment(self, **more):
        """No variable of this machine's set-up, nothing cached."""
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith("TRAINX_") and k not in ("LD_LIBRARY_PATH", "PYTHONPATH")
        }
        return {
            **env,
            "CUDA_VISIBLE_DEVICES": "",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            **more,
        }

    def fresh_environment(self):
        """A virtual environment with torch 2.11.0, as `pip install torch` leaves it, by links."""
        venv = self.folder / "venv"
        run(sys.executable, "-m", "venv", venv)
        site = next(venv.glob("lib/python3*/site-packages"))
        for name in ("torch", "nvidia"):
            (site / name).symlink_to(torch_folder().parent / name)
        info = site / "torch-2.11.0.dist-info"
        info.mkdir()
        for name, text in STUB.items():
            (info / name).write_text(text.format(name="torch", version="2.11.0"))
        return venv

    def first_step(self, trainx, env):
        """Seconds until the first step of the quickstart is written down, from now."""
        began = time.monotonic()
        run(trainx, "init", "quickstart", cwd=self.folder, env=env)
        process = subprocess.Popen(
            [
                trainx,
                "train",
                "quickstart.yaml",
                "run.duration=20 steps",
                "metrics.every=1 steps",
                "schedule.warmup=5 steps",
            ],
            cwd=self.folder,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        metrics = self.folder / "outputs" / "quickstart" / "metrics.jsonl"
        while (
            not (metrics.exists() and metrics.read_text().count("\n") > 0)
            and process.poll() is None
        ):
            time.sleep(0.01)
        seconds = time.monotonic() - began
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("loss", json.loads(metrics.read_text().splitlines()[0]))
        return seconds

    def test_wheel_to_the_first_step_within_a_minute(self):
        venv = self.fresh_environment()
        began = time.monotonic()
        run(
            venv / "bin" / "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-index",
            self.wheel,
        )
        installed = time.monotonic() - began
        env = self.environment(PATH=f"{venv}/bin:/usr/bin:/bin")
        step = self.first_step(shutil.which("trainx", path=env["PATH"]), env)
        print(
            f"wheel: pip install {installed:.1f} s, first step {step:.1f} s after it, "
            f"{installed + step:.1f} s together"
        )
        self.assertLess(installed + step, 60)
        self.assertEqual(
            run("sh", "-c", "trainx version", cwd=self.folder, env=env).stdout.split()[0], "trainx"
        )
        self.assertEqual(
            run(
                venv / "bin" / "python", "-m", "trainx", "version", cwd=self.folder, env=env
            ).returncode,
            0,
        )
        linked = self.folder / "link"
        linked.symlink_to(venv / "bin" / "trainx")
        run(linked, "version", cwd=self.folder, env=env)  # as pipx links it
        for page in ("man1/trainx.1", "man5/trainx-recipe.5"):
            self.assertTrue((venv / "share" / "man" / page).exists(), page)
        used = run(
            "ldd", next(venv.glob("lib/python3*/site-packages/trainx/bin/trainx-worker")), env=env
        ).stdout
        self.assertNotIn("not found", used)
        self.assertIn(
            str(venv), next(line for line in used.splitlines() if "libsentencepiece" in line)
        )
        run(venv / "bin" / "pip", "uninstall", "--yes", "trainx")
        self.assertFalse(list(venv.glob("lib/python3*/site-packages/trainx/bin/*")))

    def test_archive_finds_torch_by_name_and_beside(self):
        with tarfile.open(self.archive) as archive:
            archive.extractall(self.folder, filter="fully_trusted")
        tree = next(self.folder.glob("trainx-*"))
        trainx = tree / "bin" / "trainx"
        env = self.environment()
        run(trainx, "init", "quickstart", "--output", "alone.yaml", cwd=self.folder, env=env)
        alone = run(
            trainx, "train", "alone.yaml", "run.name=alone", expect=None, cwd=self.folder, env=env
        )
        self.assertEqual(alone.returncode, 69, alone.stderr)
        self.assertIn("TRAINX_TORCH_DIR", alone.stderr)
        seconds = self.first_step(trainx, self.environment(TRAINX_TORCH_DIR=str(torch_folder())))
        print(f"archive: first step {seconds:.1f} s after it was unpacked")
        self.assertLess(seconds, 60)
        for name in ("torch", "nvidia"):
            (self.folder / name).symlink_to(torch_folder().parent / name)
        run(
            trainx,
            "train",
            "quickstart.yaml",
            "run.name=beside",
            "run.duration=5 steps",
            "schedule.warmup=1 steps",
            cwd=self.folder,
            env=env,
        )

    def test_metadata_and_tag_are_true(self):
        self.assertRegex(
            self.wheel.name, r"^trainx-\d+\.\d+\.\d+-py3-none-manylinux_2_34_x86_64\.whl$"
        )
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            info = self.wheel.name.split("-py3")[0] + ".dist-info/"
            metadata = wheel.read(info + "METADATA").decode()
            record = wheel.read(info + "RECORD").decode().splitlines()
            wheel.extractall(self.folder)
        self.assertIn("Requires-Dist: torch==2.11.0\n", metadata)
        self.assertEqual(sorted(line.split(",")[0] for line in record), sorted(names))
        for wanted in (
            "trainx/bin/trainx",
            "trainx/bin/trainx-worker",
            "trainx/include/trainx/worker.hpp",
            "trainx/lib/cmake/trainx/trainxConfig.cmake",
        ):
            self.assertIn(wanted, names)
        cuda = (
            "ON"
            in re.search(
                r"set\(TRAINX_CUDA (\w+)\)",
                (self.folder / "trainx/lib/cmake/trainx/trainxConfig.cmake").read_text(),
            )[1]
        )
        self.assertEqual("with CUDA parts" in metadata, cuda)
        for name in ("trainx", "trainx-worker"):
            binary = self.folder / "trainx" / "bin" / name
            needs = run("objdump", "-T", binary).stdout
            versions = {
                tuple(map(int, v.split("."))) for v in re.findall(r"\(GLIBC_([0-9.]+)\)", needs)
            }
            self.assertLessEqual(max(versions), (2, 34), name)
            of_gcc = {
                tuple(map(int, v.split("."))) for v in re.findall(r"\(GLIBCXX_([0-9.]+)\)", needs)
            }
            self.assertLessEqual(max(of_gcc), (3, 4, 29), name)
            paths = re.findall(r"R(?:UN)?PATH\s+(\S+)", run("objdump", "-p", binary).stdout)
            self.assertTrue(
                paths and all(p.startswith("$ORIGIN") for p in paths[0].split(":")), paths
            )
        for file in [p for p in (self.folder / "trainx").rglob("*.cmake")]:
            self.assertNotIn(str(torch_folder()), file.read_text(), file)

    def test_man_pages_render_without_warnings(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        with tarfile.open(self.archive) as archive:
            archive.extractall(self.folder, filter="fully_trusted")
        pages = list(self.folder.glob("trainx-*/share/man/man*/*"))
        self.assertEqual(sorted(p.name for p in pages), ["trainx-recipe.5", "trainx.1"])
        for page in pages:
            done = run("groff", "-man", "-ww", "-Tutf8", "-z", page)
            self.assertEqual(done.stderr, "", page)
        text = next(p for p in pages if p.suffix == ".1").read_text()
        trainx = next(self.folder.glob("trainx-*/bin/trainx"))
        listed = re.findall(
            r"^  (\w[\w-]*)", run(trainx, "--help").stdout.split("anywhere")[0], re.M
        )
        for command in listed:
            self.assertIn(f".SS trainx {command}\n", text.replace("\\-", "-"))

    def test_source_archive_names_its_commit(self):
        run(
            ROOT / "scripts" / "package",
            "--source",
            env={**os.environ, "TRAINX_DIST_DIR": str(self.dist)},
        )
        archive = next(p for p in self.dist.glob("trainx-*.tar.gz") if "linux" not in p.name)
        with tarfile.open(archive) as source:
            name = next(n for n in source.getnames() if n.endswith("/.version"))
            text = source.extractfile(name).read().decode()
            self.assertIn(name.split("/")[0] + "/CMakeLists.txt", source.getnames())
        commit = run("git", "-C", ROOT, "rev-parse", "HEAD").stdout.strip()
        self.assertEqual(text.splitlines()[0], commit[:12])
        self.assertIn(f"commit {commit}\n", text)

    def test_dockerfile_runs_commands_that_are_there(self):
        lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
        words = [line.split(None, 1)[0] for line in lines if line and not line.startswith("#")]
        self.assertLessEqual(
            set(words), {"ARG", "FROM", "RUN", "COPY", "WORKDIR", "ENV", "ENTRYPOINT", "CMD"}
        )
        commands = [line[4:] for line in lines if line.startswith("RUN ")]
        for command in commands:
            run("bash", "-n", "-c", command)
        scripts = [c for c in commands if c.startswith("scripts/")]
        self.assertEqual(scripts, ["scripts/setup", "scripts/package"])
        for script in scripts:
            self.assertTrue(os.access(ROOT / script.split()[0], os.X_OK), script)
        install = next(c for c in commands if "pip install" in c)
        self.assertIn("trainx-*.whl", install)


if __name__ == "__main__":
    main()
