"""A build of an earlier commit, beside that of the tree: for losses, which depend on the processor.

Objects of files that are alike come from ccache: paths are as those of the tree's own build."""

import io
import os
import re
import subprocess
import tarfile
import time

TARGETS = ("bin/trainx", "bin/trainx-worker", "tests/net-worker", "tests/own-modules-worker")
PASSED_ON = re.compile(r"^(TRAINX_\w+|CMAKE_BUILD_TYPE|CMAKE_CUDA_COMPILER):\w+=(.*)$", re.M)

# What configuring finds out by itself.
FOUND = ("_INCLUDE", "_LIBRARY", "_CHOSEN_ARCHITECTURES")


class NotBuilt(Exception):
    """A sentence: why there is no such build."""


def options(cache, root, source):
    """Of the tree's own build; what lies under the tree lies under the other source, too."""
    found = dict(PASSED_ON.findall(cache))
    return [
        f"-D{name}={value.replace(str(root), str(source))}"
        for name, value in found.items()
        if value and not name.endswith(FOUND)
    ]


def build(root, tree_build, commit, seconds, targets=TARGETS, source=None):
    """Its folder, with the targets built within that time. `source`: where its tree lies."""
    source = source or tree_build / "net-base"
    begin = time.monotonic()

    def run(*command, **how):
        left = seconds - (time.monotonic() - begin)
        try:
            return subprocess.run(
                [str(c) for c in command], capture_output=True, check=True, timeout=left, **how
            )
        except subprocess.TimeoutExpired as error:
            raise NotBuilt(f"it was not built within {seconds:.0f} s") from error
        except subprocess.CalledProcessError as error:
            said = (error.stdout + error.stderr).decode(errors="replace")[-400:]
            raise NotBuilt(f"{command[0]} ended with {error.returncode}: {said}") from error

    if (source / "commit").exists() and (source / "commit").read_text() != commit:
        subprocess.run(["rm", "-rf", str(source)], check=True)
    if not source.exists():
        source.mkdir(parents=True)
        archive = run("git", "-C", root, "archive", "--format=tar", commit).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source)
        (source / ".deps").symlink_to(root / ".deps")
        (source / "commit").write_text(commit)
    out = source / "build"
    if not (out / "build.ninja").exists():
        cache = (tree_build / "CMakeCache.txt").read_text()
        run("cmake", "-G", "Ninja", "-S", source, "-B", out, *options(cache, root, source))
    run("nice", "ninja", "-C", out, *targets, env=os.environ | {"CCACHE_BASEDIR": str(source)})
    return out
