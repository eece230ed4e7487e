"""Which tests reach a source file: from the build's graph those whose programs are linked from an
object that includes it; end-to-end scripts, which run trainx, by the layer (end_to_end.json)."""

import dataclasses
import fnmatch
import functools
import json
import pathlib
import subprocess

END_TO_END = pathlib.Path(__file__).with_name("end_to_end.json")
# That end-to-end scripts run: many commands as forks of two programs of their own.
PROGRAMS = ("bin/trainx", "bin/trainx-worker", "tests/many_commands", "tests/many_runs")


@dataclasses.dataclass(frozen=True)
class Entry:
    """Of ctest."""

    name: str
    command: tuple
    target: str  # of ninja; "": a script
    environment: tuple = ()


def output(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    return done.stdout


def layer_of(file):
    """ "lib/plan/choose/fit.cpp" -> "plan", "kernels/norm/layer_norm.cpp" -> "kernels" """
    parts = pathlib.PurePath(file).parts
    return parts[1] if parts[0] == "lib" else parts[0]


def parse_deps(text):
    """`ninja -t deps`: object -> files."""
    out, files = {}, set()
    for line in text.splitlines():
        if line.startswith("    "):
            files.add(line.strip())
        elif ": #deps" in line:
            files = out[line.split(": #deps")[0]] = set()
    return out


def parse_entries(text, build):
    """`ctest --show-only=json-v1`: entries without a GPU, slow ones left out."""
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        labels = set(properties.get("LABELS", []))
        if (
            not test.get("command")
            or labels & {"gpu", "slow", "tsan"}
            or ".reference." in test["name"]
        ):
            continue
        program = pathlib.Path(test["command"][0])
        target = str(program.relative_to(build)) if program.is_relative_to(build) else ""
        yield Entry(
            test["name"], tuple(test["command"]), target, tuple(properties.get("ENVIRONMENT", []))
        )


def scripts_of(layer, names, table):
    """Of the end-to-end scripts those that the table has for the layer, in its order."""
    patterns = table.get(layer, ["*"])
    return [name for p in patterns for name in sorted(names) if fnmatch.fnmatchcase(name, p)]


class Reach:
    def __init__(self, root, build):
        self.root, self.build = pathlib.Path(root), pathlib.Path(build).resolve()
        self.table = json.loads(END_TO_END.read_text())

    @functools.cached_property
    def deps(self):
        return parse_deps(output("ninja", "-C", self.build, "-t", "deps"))

    @functools.cached_property
    def entries(self):
        said = output("ctest", "--test-dir", self.build, "--show-only=json-v1")
        return list(parse_entries(said, self.build))

    @functools.lru_cache(maxsize=None)
    def inputs(self, target):
        return set(output("ninja", "-C", self.build, "-t", "inputs", target).split("\n"))

    def objects(self, file):
        """Those that are compiled from it or include it."""
        path = str(self.root / file)
        names = {path, str(pathlib.Path("..") / file)}
        return {o for o, files in self.deps.items() if names & files}

    def reaches(self, target, objects):
        return bool(self.inputs(target) & objects)

    def of(self, file):
        """Entries that reach the file: of its own layer, then those with the fewest inputs, then
        cases of equality and end-to-end scripts."""
        objects, layer = self.objects(file), layer_of(file)
        programs = [
            e
            for e in self.entries
            if e.target and not e.name.startswith("equality.") and self.reaches(e.target, objects)
        ]
        programs.sort(key=lambda e: (not e.name.endswith("." + layer), len(self.inputs(e.target))))
        if not any(self.reaches(p, objects) for p in PROGRAMS):
            return programs
        scripts = {
            e.name.removeprefix("e2e.").removesuffix("_test"): e
            for e in self.entries
            if e.name.startswith("e2e.")
        }
        scripts |= {
            e.name.replace(".", "/"): e for e in self.entries if e.name.startswith("equality.")
        }
        names = dict.fromkeys(scripts_of(layer, scripts, self.table))
        return programs + [scripts[name] for name in names]
