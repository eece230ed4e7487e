"""Measured files in the tree are those that a page shows, in bench/results, and those that a test
reads, in tests/data/measured."""
import json
import os
import pathlib
import re
import statistics
import tempfile
import unittest
import xml.etree.ElementTree

import documentation
from support import ROOT, main

LINK = re.compile(r"\]\(([^)\s#]+)")
# `git show COMMIT:bench/results/...` names a file of the history.
NAME = re.compile(r"(?<![\w:/.-])(?:bench/results|tests/data/measured)/[\w./-]*[\w-]")


def links(page, root):
    """What a page links or names: as it is written, and the path."""
    text = page.read_text()
    for link in LINK.findall(documentation.outside_fences(text)):
        if ":" not in link:
            yield link, pathlib.Path(os.path.normpath(page.parent / link))
    for name in NAME.findall(text):
        yield name, root / name


def shown(root):
    """Files that pages show, and the links of those pages that lead nowhere."""
    todo = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    found, broken = set(todo), []
    while todo:
        page = todo.pop()
        for link, path in links(page, root):
            if not path.exists():
                broken.append(f"{page.relative_to(root)}: {link}")
            elif path.is_file() and path not in found:
                found.add(path)
                todo += [path] if path.suffix == ".md" else []
    return found, broken


def files_below(folder):
    """Without logs, which bench/drive leaves and git ignores."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if "logs" not in path.relative_to(folder).parts)


def not_shown(root):
    found, _ = shown(root)
    files = files_below(root / "bench" / "results")
    return [str(path.relative_to(root)) for path in files if path not in found]


def without_origin(root):
    """What pages of bench/results do not name of: a commit, a date, and the GPU (but for those of
    CPUs). Speeds that others published have sources instead."""
    parts = {"commit": re.compile(r"\bcommits?\b[ |]+`?[0-9a-f]{7,12}\b", re.IGNORECASE),
             "date": re.compile(r"\b20\d\d-\d\d-\d\d\b"),
             "GPU": re.compile(r"\b(?:NVIDIA )?[AHBL]\d{2,3}s?\b")}
    folder = root / "bench" / "results"
    missing = []
    for page in sorted(set(folder.rglob("*.md")) - {folder / "published.md"}):
        text = page.read_text()
        on_cpu = page.relative_to(folder).parts[0] == "cpu"
        missing += [f"{page.relative_to(root)}: {name}" for name, part in parts.items()
                    if not part.search(text) and not (name == "GPU" and on_cpu)]
    return missing


def watts(page_folder):
    """Of each step of trainx alone on one GPU in 16 bits that pages of the folder show."""
    found = []
    for page in sorted(page_folder.rglob("*.md")):
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) < 13 or cells[1] != "**trainx**" or " GPU" in cells[0]:
                continue
            rate = re.match(r"([\d.]+)(k?) (?:tokens|samples)", cells[2])
            found.append(float(rate[1]) * (1000 if rate[2] else 1) * float(cells[10]) / 1000)
    return found


def not_read(root):
    """Files that no test names in quotes, or that the folder's README does not describe."""
    folder = root / "tests" / "data" / "measured"
    readme = folder / "README.md"
    tests = [path for path in (root / "tests").rglob("*_test.*") if path.suffix in (".py", ".cpp")]
    code = "\n".join(path.read_text() for path in tests if path.name != "results_test.py")
    names = [str(path.relative_to(folder)) for path in files_below(folder) if path != readme]
    listed = readme.read_text()
    return [name for name in names if f'"{name}"' not in code or f"`{name}`" not in listed]


def commands(value):
    """Each recorded command of a JSON value, as a list of words."""
    if isinstance(value, dict) and value.get("command"):
        command = value["command"]
        yield command.split() if isinstance(command, str) else command
    inner = value.values() if isinstance(value, dict) else value
    for each in inner if isinstance(value, (dict, list)) else ():
        yield from commands(each)


class Results(unittest.TestCase):
    def test_pages_show_all_of_bench_results(self):
        self.assertEqual(not_shown(ROOT), [], "link these files from a page, or remove them")

    def test_links_of_pages_lead_to_files(self):
        self.assertEqual(shown(ROOT)[1], [])

    def test_figures_of_pages_are_figures(self):
        figures = [path for path in sorted(shown(ROOT)[0]) if path.suffix == ".svg"]
        self.assertGreater(len(figures), 1)
        for path in figures:
            root = xml.etree.ElementTree.parse(path).getroot()
            self.assertTrue(root.tag.endswith("}svg"), path)

    def test_tests_read_all_of_the_measured_data(self):
        self.assertEqual(not_read(ROOT), [], "read by no test, or not in the folder's README.md")

    def test_pages_name_commit_date_and_gpu(self):
        self.assertEqual(without_origin(ROOT), [])

    def test_watts_that_plans_take_are_those_of_the_pages(self):
        code = (ROOT / "lib" / "plan" / "explain" / "energy.cpp").read_text()
        taken = {gpu: float(x) for gpu, x in re.findall(r'gpu == "(\w+)" \? (\d+)', code)}
        self.assertEqual(sorted(taken), ["h100", "h200"])
        for gpu, of_plans in taken.items():
            found = watts(ROOT / "bench" / "results" / gpu)
            median = statistics.median(found)
            print(f"  {gpu}: {median:.1f} W, the median of {len(found)} rows; plans take {of_plans}")
            self.assertGreater(len(found), 5)
            self.assertLess(abs(of_plans / median - 1), 0.01)

    def test_recorded_commands_name_no_folder_of_a_machine(self):
        found = 0
        for folder in (ROOT / "bench" / "results", ROOT / "tests" / "data" / "measured"):
            for path in files_below(folder):
                if path.suffix not in (".json", ".jsonl"):
                    continue
                text = path.read_text()
                values = text.splitlines() if path.suffix == ".jsonl" else [text]
                for command in (c for value in values for c in commands(json.loads(value))):
                    found += 1
                    for word in command:
                        value = word.rpartition("=")[2].removeprefix("/dev/")
                        self.assertFalse(value.startswith("/"), f"{path}: {word}")
        self.assertGreater(found, 50)


class Rule(unittest.TestCase):
    """The checks above find what breaks the rule."""

    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.write("README.md", "[index](docs/index.md), [a site](https://example.org)")
        self.write("docs/index.md", "Source: `bench/results/gpu/steps.md`.")
        self.write("bench/results/gpu/steps.md", "[rows](rows.jsonl), [beside](../cpu/a.json)")
        self.write("bench/results/gpu/rows.jsonl", "{}")
        self.write("bench/results/gpu/logs/tiny.log", "")
        self.write("bench/results/cpu/a.json", "{}")
        self.write("tests/data/measured/README.md", "`gpu/rates.json`")
        self.write("tests/data/measured/gpu/rates.json", "{}")
        self.write("tests/unit/rates_test.cpp", 'measured("gpu/rates.json")')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_a_tree_that_keeps_the_rule(self):
        self.assertEqual(not_shown(self.root), [])
        self.assertEqual(shown(self.root)[1], [])
        self.assertEqual(not_read(self.root), [])

    def test_a_link_to_a_folder_shows_none_of_its_files(self):
        self.write("bench/results/gpu/raw/tiny.json", "{}")
        self.write("docs/more.md", "[rows](../bench/results/gpu/raw), `bench/results/gpu/raw`")
        self.assertEqual(not_shown(self.root), ["bench/results/gpu/raw/tiny.json"])

    def test_pages_that_only_each_other_link_are_not_shown(self):
        self.write("bench/results/gpu/one.md", "[two](two.md)")
        self.write("bench/results/gpu/two.md", "[one](one.md)")
        names = ["bench/results/gpu/one.md", "bench/results/gpu/two.md"]
        self.assertEqual(not_shown(self.root), names)

    def test_links_that_lead_nowhere_are_named(self):
        self.write("bench/results/gpu/steps.md", "[rows](gone.json), [beside](../cpu/a.json)")
        self.write("docs/more.md", "`bench/results/gone.md`, `git show 1a:bench/results/old.md`\n"
                   "```\nbench/drive run --rows-file bench/results/gone.json\n```\n")
        wanted = ["bench/results/gpu/steps.md: gone.json", "docs/more.md: bench/results/gone.json",
                  "docs/more.md: bench/results/gone.md"]
        self.assertEqual(sorted(shown(self.root)[1]), wanted)
        self.assertEqual(not_shown(self.root), ["bench/results/gpu/rows.jsonl"])

    def test_data_that_no_test_reads_or_no_table_lists_is_named(self):
        self.write("tests/data/measured/gpu/unread.json", "{}")
        self.write("tests/data/measured/README.md", "`gpu/unread.json`")
        self.assertEqual(not_read(self.root), ["gpu/rates.json", "gpu/unread.json"])

    def test_pages_without_commit_date_or_gpu_are_named(self):
        page = "bench/results/gpu/steps.md"
        whole = "NVIDIA H200, commit 443b4e8e, 2026-11-21."
        self.write(page, whole)
        self.assertEqual(without_origin(self.root), [])
        for name, part in (("GPU", "NVIDIA H200"), ("commit", "443b4e8e"), ("date", "2026-11-21")):
            self.write(page, whole.replace(part, "-"))
            self.assertEqual(without_origin(self.root), [f"{page}: {name}"])
        self.write(page, whole)
        self.write("bench/results/cpu/page.md", "commit 443b4e8e, 2026-11-21")
        self.assertEqual(without_origin(self.root), [])

    def test_commands_are_found_at_any_depth(self):
        value = {"rows": [{"command": ["a", "b"]}, {"of": {"command": "c d"}}], "command": None}
        self.assertEqual(list(commands(value)), [["a", "b"], ["c", "d"]])


if __name__ == "__main__":
    main()
