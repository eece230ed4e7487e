"""Measured files in the tree are those that a page shows, in bench/results, and those that a test
reads, in tests/data/measured."""
import json
import os
import pathlib
import re
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

    def test_commands_are_found_at_any_depth(self):
        value = {"rows": [{"command": ["a", "b"]}, {"of": {"command": "c d"}}], "command": None}
        self.assertEqual(list(commands(value)), [["a", "b"], ["c", "d"]])


if __name__ == "__main__":
    main()
