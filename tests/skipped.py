#!/usr/bin/env python3
"""Counts and names the tests that the last run of ctest skipped.

  tests/skipped.py BUILD

Reads what entries say in their last lines (tests/support/test_results.cpp, tests/e2e/outcome.py) in
ctest's log. Prints a line for each reason and entry, then one with the count."""
import json
import pathlib
import re
import sys

MOST_NAMES = 3                          # of one line
ENTRY = re.compile(r"\d+/\d+ Testing: (.+)")
SAID = "tests: {"


def said_by_entries(text):
    """{entry: what it says of its tests}"""
    said, entry = {}, ""
    for line in text.splitlines():
        if match := ENTRY.fullmatch(line):
            entry = match[1]
        elif entry and line.startswith(SAID):
            try:
                said[entry] = json.loads(line.removeprefix("tests: "))
            except ValueError:
                pass                    # of a process that a time limit ended
    return said


def names_of(tests):
    more = len(tests) - MOST_NAMES
    return ", ".join(tests[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def lines_of(said):
    for entry, told in sorted(said.items()):
        for why, tests in told["why"].items():
            which = names_of(tests) if tests else "all of it"
            yield f"skipped: {entry}: {which}: {why}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tests/skipped.py BUILD")
    log = pathlib.Path(sys.argv[1], "Testing", "Temporary", "LastTest.log")
    if not log.exists():
        sys.exit(f"tests/skipped.py: there is no {log}: ctest did not run")
    said = said_by_entries(log.read_text(errors="replace"))
    for line in lines_of(said):
        print(line)
    counts = [sum(told[key] for told in said.values()) for key in ("ran", "skipped")]
    print(f"tests that ran: {counts[0]}; skipped: {counts[1]}")


if __name__ == "__main__":
    main()
