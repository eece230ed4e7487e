"""What a commit means to change in the net: tests/net/changes.json, which the next commit clears.

{"changes": [{"cases": [patterns], "sections": [patterns], "why": "a sentence"}]}
A section's pattern is matched with its name ("programs") and with its kind before it ("h200,
programs").
"""

import fnmatch
import json

from recording import kind_and_section

EMPTY = {"changes": []}


class Malformed(Exception):
    """A sentence about the file."""


def parse(text):
    try:
        changes = json.loads(text)["changes"]
        for change in changes:
            lists = all(
                change[key] and all(isinstance(p, str) for p in change[key])
                for key in ("cases", "sections")
            )
            if not lists or set(change) != {"cases", "sections", "why"}:
                raise ValueError("a change has lists of cases and sections, and why")
            if not isinstance(change["why"], str) or len(change["why"].split()) < 3:
                raise ValueError("a change says why, in a sentence")
    except (ValueError, KeyError, TypeError) as error:
        raise Malformed(f"changes.json is not as tests/net/declaring.py says: {error}") from error
    return changes


def text_of(changes):
    return json.dumps({"changes": changes}, indent=2) + "\n"


def of_pattern(pattern, name):
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def of_section(pattern, section):
    return of_pattern(pattern, section) or of_pattern(pattern, kind_and_section(section)[1])


def covers(change, difference):
    return any(of_pattern(p, difference.case) for p in change["cases"]) and any(
        of_section(p, difference.section) for p in change["sections"]
    )


def undeclared(found, changes):
    return [d for d in found if not any(covers(change, d) for change in changes)]


def without_effect(found, changes):
    """Sentences about patterns that name no difference."""
    out = []
    for change in changes:
        of_change = [d for d in found if covers(change, d)]
        for pattern in change["cases"]:
            if not any(of_pattern(pattern, d.case) for d in of_change):
                out.append(f"no case that differs is called {pattern!r}")
        for pattern in change["sections"]:
            if not any(of_section(pattern, d.section) for d in of_change):
                out.append(f"no section that differs is called {pattern!r}")
    return list(dict.fromkeys(out))


def declaration(found, why):
    """Of all these differences: an entry for each set of sections that the same cases differ in."""
    by_case = {}
    for d in found:
        by_case.setdefault(d.case, set()).add(kind_and_section(d.section)[1])
    by_sections = {}
    for name, sections in by_case.items():
        by_sections.setdefault(tuple(sorted(sections)), []).append(name)
    return [
        {"cases": names, "sections": list(sections), "why": why}
        for sections, names in sorted(by_sections.items())
    ]
