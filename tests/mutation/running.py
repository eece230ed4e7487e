"""Builds mutants in a copy of the tree and finds out what notices them; results are lines of JSON,
so that a run that ended goes on where it was."""

import dataclasses
import hashlib
import json
import pathlib
import subprocess
import sys
import time

import generator

NOTICED, SURVIVED = "noticed", "survived"
# Drawn anew: they are no mutants that a test could tell from the original.
NO_MUTANTS = ("does not compile", "same object")
VALID = (NOTICED, SURVIVED)


class Results:
    """Of one seed; a line a mutant."""

    def __init__(self, path, seed):
        self.path, self.seed = pathlib.Path(path), seed
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        rows = [json.loads(line) for line in lines]
        self.rows = [row for row in rows if row["seed"] == seed]

    def of(self, mutation):
        """What is known of it; None: nothing."""
        key = dataclasses.asdict(mutation)
        return next((row for row in self.rows if row["mutation"] == key), None)

    def add(self, mutation, outcome, by="", seconds=0.0):
        row = {"seed": self.seed, "mutation": dataclasses.asdict(mutation), "outcome": outcome,
               "by": by, "seconds": round(seconds, 1)}  # fmt: skip
        self.rows.append(row)
        with open(self.path, "a") as out:
            print(json.dumps(row), file=out, flush=True)
        return row


class Tree:
    """A copy of a commit with a build, whose files are changed and put back."""

    def __init__(self, source, build, originals):
        self.source, self.build = pathlib.Path(source), pathlib.Path(build)
        self.originals = originals  # name -> text

    def restore(self):
        """Puts back what a run that was killed left mutated."""
        for name, text in self.originals.items():
            path = self.source / name
            if path.read_text() != text:
                path.write_text(text)

    def apply(self, mutation):
        text = generator.applied(self.originals[mutation.file], mutation)
        (self.source / mutation.file).write_text(text)

    def undo(self, mutation):
        (self.source / mutation.file).write_text(self.originals[mutation.file])

    def ninja(self, *targets):
        """Whether they are built; all that can be."""
        done = subprocess.run(
            ["ninja", "-C", str(self.build), "--quiet", "-k", "0", *targets], capture_output=True
        )
        return done.returncode == 0

    def hashes(self, objects):
        """None of an object that is not there: it did not compile."""
        out = {}
        for name in objects:
            path = self.build / name
            data = path.read_bytes() if path.exists() else None
            out[name] = data and hashlib.sha256(data).hexdigest()
        return out


def compiled(tree, objects, before):
    """ "": the objects are others; else one of NO_MUTANTS."""
    if not tree.ninja(*objects):
        return NO_MUTANTS[0]
    return NO_MUTANTS[1] if tree.hashes(objects) == before else ""


def run(mutations, count, results, judge, ends_at, said=print):
    """Judges mutants until `count` are valid. judge(mutation) -> (outcome, by). Returns the rows of
    the valid ones; fewer if the time was over."""
    valid = []
    for mutation in mutations:
        if len(valid) == count:
            break
        row = results.of(mutation)
        if row is None:
            if time.time() > ends_at:
                break
            begin = time.time()
            outcome, by = judge(mutation)
            row = results.add(mutation, outcome, by, time.time() - begin)
            said(line_of(row))
        if row["outcome"] in VALID:
            valid.append(row)
    return valid


def line_of(row):
    m = row["mutation"]
    by = f" by {row['by']}" if row["by"] else ""
    return (f"{row['outcome'].upper() if row['outcome'] == SURVIVED else row['outcome']}{by}: "
            f"{m['file']}:{m['line']} {m['kind']}\n    - {m['before'].strip()}\n"
            f"    + {m['after'].strip()}")  # fmt: skip


def summary(valid, count):
    noticed = sum(row["outcome"] == NOTICED for row in valid)
    return f"{noticed} of {len(valid)} mutations are noticed ({count} were asked for)"


def exit_code(valid, count):
    """0: all were judged and noticed; 1: one survived; 3: the time was over."""
    if any(row["outcome"] == SURVIVED for row in valid):
        return 1
    return 0 if len(valid) == count else 3


if __name__ == "__main__":
    sys.exit("this is a module of scripts/mutate")
