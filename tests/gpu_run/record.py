"""What a run on a GPU is kept as: JSON of each part, and the page bench/results/GPU/tests.md."""
import datetime
import json
import pathlib
import re
import subprocess

from listing import ROOT
import machine

RESULTS = ROOT / "bench" / "results"
FACTS = ("commit", "gpu", "gpus", "driver", "torch", "transformers")
LOST = ("failed", "timeout", "no time")
ROW = re.compile(r"\| (.+) \| (\w[\w ]*) \| ([\d.]+) \|")


def commit_of(build):
    """Of the binaries, as scripts/pack says, else of this tree."""
    packed = build / "commit"
    if packed.exists():
        return packed.read_text().strip()
    def git(*words):
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""
    commit = git("rev-parse", "--short=8", "HEAD")
    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return commit + changed if commit else "not known"


def facts(build, gpus):
    return {"commit": commit_of(build), "date": datetime.date.today().isoformat(),
            "gpu": gpus[0][0], "gpus": len(gpus), "driver": gpus[0][1],
            "torch": machine.version("torch"), "transformers": machine.version("transformers")}


def key(row):
    return row["entry"], row["test"], row["part"]


def write_part(path, told, part, all_tests, rows, seconds):
    """A row a line. `all_tests`: keys of the tests of all parts."""
    head = {**told, "part": part, "seconds": round(seconds), "of": all_tests}
    lines = ",\n".join(json.dumps(row) for row in rows)
    whole = path.with_suffix(".part")
    whole.write_text(f'{json.dumps(head)[:-1]}, "rows": [\n{lines}\n]}}\n')
    whole.rename(path)


def merged(parts):
    """One document of the parts of a run, or of several runs of one machine, of which later ones
    replace what they ran again. Raises ValueError where a run lacks a part."""
    runs = []
    for part in parts:
        run = next((run for run in runs if run[0]["of"] == part["of"]
                    and run[0]["commit"] == part["commit"]), None)
        if run is None:
            runs.append([part])
        else:
            run.append(part)
    for name in FACTS:
        if name != "commit" and len({part[name] for part in parts}) > 1:
            values = " and ".join(sorted({str(part[name]) for part in parts}))
            raise ValueError(f"parts are of different {name}: {values}")
    rows = {}
    for run in runs:
        for row in rows_of(run):
            rows[key(row)] = row
    commits = list(dict.fromkeys(part["commit"] for part in parts))
    return {**parts[0], "commit": ", ".join(commits), "date": max(p["date"] for p in parts),
            "rows": list(rows.values()), "seconds": [p["seconds"] for p in parts]}


def rows_of(run):
    """Of all parts of one run."""
    rows = [row for part in run for row in part["rows"]]
    found = sorted(map(key, rows))
    if len(set(found)) < len(found):
        raise ValueError("a test is in two parts: give each part once")
    if missing := sorted(set(map(tuple, run[0]["of"])) - set(found)):
        given = ", ".join(part["part"] for part in run)
        raise ValueError(f"{len(missing)} tests are in none of the parts {given}, as "
                         f"{': '.join(missing[0][:2])}")
    return rows


def lost(parts):
    """Keys of the tests that did not pass or had no time, by the last part that has them."""
    last = {key(row): row["result"] for part in parts for row in part["rows"]}
    return {of for of, result in last.items() if result in LOST}


def tests_of(rows):
    """A row for each test, of all its parts: the worst result, all seconds."""
    worst = (*LOST, "passed", "skipped")
    tests = {}
    for row in rows:
        name = row["entry"], row["test"]
        test = tests.setdefault(name, {**row, "seconds": 0})
        test["seconds"] += row["seconds"]
        if worst.index(row["result"]) < worst.index(test["result"]):
            test.update(result=row["result"], why=row["why"])
    return list(tests.values())


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def table(heads, lines):
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads),
                      *("| " + " | ".join(line) + " |" for line in lines)])


def counts(rows):
    return {result: sum(row["result"] == result for row in rows)
            for result in ("passed", "skipped", *LOST)}


def page(document):
    tests = tests_of(document["rows"])
    entries = {}
    for test in tests:
        entries.setdefault(test["entry"], []).append(test)
    took = " + ".join(f"{s}" for s in document["seconds"])
    parts = [
        f"# Tests on {document['gpus']} x {document['gpu']}\n",
        "Written by `scripts/test --gpu`; CONTRIBUTING.md says how.\n",
        table(("", ""), [("commit", cell(document["commit"])), ("date", document["date"]),
                         ("driver", document["driver"]), ("torch", document["torch"]),
                         ("transformers", document["transformers"]), ("seconds", took)]),
        "\n" + table(("entry", "tests", *counts([]), "seconds of tests"), [
            (name, str(len(rows)), *map(str, counts(rows).values()),
             f"{sum(row['seconds'] for row in rows):.0f}")
            for name, rows in sorted(entries.items())])]
    for title, results in (("Not passed", LOST), ("Not run", ("skipped",))):
        if chosen := [t for t in tests if t["result"] in results]:
            parts.append(f"\n## {title}\n")
            parts.append(table(("entry", "test", "result", "why"), [
                (t["entry"], cell(t["test"]), t["result"], cell(t["why"])) for t in chosen]))
    for name, rows in sorted(entries.items()):
        parts.append(f"\n## {name}\n")
        parts.append(table(("test", "result", "seconds"), [
            (cell(t["test"]), t["result"], f"{t['seconds']:.1f}")
            for t in sorted(rows, key=lambda t: t["test"])]))
    return "\n".join(parts) + "\n"


def page_of(gpu, results=RESULTS):
    return pathlib.Path(results) / machine.folder_of(gpu) / "tests.md"


def write_page(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(document))


def read_seconds(path):
    """{(entry, test): seconds} of the tests that ran, of a page that an earlier run wrote."""
    if not path.exists():
        return {}
    seconds, entry = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            entry = line[3:]
        elif (row := ROW.fullmatch(line)) and row[2] == "passed":
            seconds[entry, row[1].replace("\\|", "|")] = float(row[3])
    return seconds
