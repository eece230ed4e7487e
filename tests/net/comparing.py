"""What differs between two recordings of the net, and how it is said."""

import dataclasses
import difflib
import re

from recording import HASH, NUMBERS, hashed, kind_and_section

MISSING = "case"  # the section of a case that one of the two does not have


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    section: str
    before: str
    after: str

    def heading(self):
        return f"{self.case}: {self.section}"

    def lines(self, most):
        """The first lines that differ."""
        if self.section == MISSING:
            return [self.after or self.before]
        if self.before.startswith(HASH) or self.after.startswith(HASH):
            return ["it is recorded as a hash: compare two builds to see lines"]
        found = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), lineterm="", n=0
        )
        lines = [line for line in list(found)[2:] if not line.startswith("@@")]
        more = [f"... {len(lines) - most} more"] if len(lines) > most else []
        return [line[:200] for line in lines[:most]] + more


def differences(before, after, names=None, with_numbers=True):
    """Of the cases of both. `names`: of these alone. A case that only `after` has is no
    difference; numbers are compared where both have them."""
    out = []
    for name in before if names is None else names:
        old, new = before.get(name), after.get(name)
        if old is None:
            continue
        if new is None:
            out.append(Difference(name, MISSING, "the case is there", "the case is gone"))
            continue
        for section in {**old, **new}:
            is_number = section in NUMBERS
            if is_number and not (with_numbers and section in old and section in new):
                continue
            a, b = old.get(section, ""), new.get(section, "")
            if a.startswith(HASH) or b.startswith(HASH):
                a, b = hashed(a), hashed(b)
            if a != b:
                out.append(Difference(name, section, a, b))
    return out


def between(before, after):
    """The differences of two recordings: numbers count where both are of one kind of processor."""
    same = before.get("processor") == after.get("processor")
    return differences(before["cases"], after["cases"], with_numbers=same)


def said(found, most_differences=25, most_lines=4):
    """The differences as text, the first ones with lines."""
    counts = {}
    for difference in found:
        section = kind_and_section(difference.section)[1]
        counts.setdefault(section, set()).add(difference.case)
    out = [f"{section}: {len(names)} cases differ" for section, names in sorted(counts.items())]
    for difference in found[:most_differences]:
        out += [difference.heading(), *(f"    {line}" for line in difference.lines(most_lines))]
    if len(found) > most_differences:
        out.append(f"... and {len(found) - most_differences} more")
    return "\n".join(out)


def total_memory(text):
    return int(re.search(r"^total (\d+)$", text, re.M).group(1))


def unwanted(found, programs_may_differ):
    """Of a change that is to change no number: programs may differ, memory may shrink."""
    if not programs_may_differ:
        return found
    return [
        d
        for d in found
        if d.section in NUMBERS
        or d.section == MISSING
        or (
            kind_and_section(d.section)[1] == "memory"
            and total_memory(d.after) > total_memory(d.before)
        )
    ]
