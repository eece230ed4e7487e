"""Builds mutants in a copy of the tree and finds out what notices them; results are lines of JSON,
so that a run that ended goes on where it was."""

import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
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


def run(mutations, count, results, judges, ends_at, said=print):
    """Judges mutants until the first `count` valid ones are known, each judge one at a time.
    judge(mutation) -> (outcome, by). Returns the rows of the valid ones in the order in which they
    were drawn; fewer if the time was over."""
    drawn, rows, lock = iter(mutations), [], threading.Lock()

    def first_valid():
        """Of the first that were drawn, without a gap."""
        known = itertools.takewhile(lambda row: row is not None, rows)
        return [row for row in known if row["outcome"] in VALID][:count]

    def following():
        """The place and the mutation that is judged next; None: there is none."""
        while len(first_valid()) < count:
            mutation = next(drawn, None)
            if mutation is None:
                return None
            rows.append(results.of(mutation))
            if rows[-1] is None:
                return None if time.time() > ends_at else (len(rows) - 1, mutation)
        return None

    def work(judge):
        while True:
            with lock:
                one = following()
            if one is None:
                return
            begin = time.time()
            outcome, by = judge(one[1])
            with lock:
                rows[one[0]] = results.add(one[1], outcome, by, time.time() - begin)
                said(line_of(rows[one[0]]))

    with concurrent.futures.ThreadPoolExecutor(len(judges)) as threads:
        for done in [threads.submit(work, judge) for judge in judges]:
            done.result()
    return first_valid()


class ElsewhereJudge:
    """A judge in a process of its own that sees a copy of the tree in its place: builds know their
    folders by absolute paths. It takes the right to mount (root, or a user namespace)."""

    def __init__(self, tree, copy, command):
        subprocess.run(["cp", "-a", "--reflink=auto", str(tree), str(copy)], check=True)
        # the folder at hand is entered anew, as it may be one of the tree's
        mount = 'mount --bind "$1" "$2" && cd "$3" && shift 3 && exec "$@"'
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", mount, "sh", str(copy), str(tree), os.getcwd(),
             *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, mutation):
        self.process.stdin.write(json.dumps(dataclasses.asdict(mutation)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("a judge ended")
        return tuple(json.loads(answer))


def serve(judge, questions, answers):
    """What an ElsewhereJudge asks."""
    for line in questions:
        answers.write(json.dumps(judge(generator.Mutation(**json.loads(line)))) + "\n")
        answers.flush()


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
