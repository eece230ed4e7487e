"""Mutations of one line of C++: operators, comparisons, constants, conditions and early returns.

A site is a place in a line where one of the kinds applies. Comments, strings, preprocessor lines,
declarations of types, and what makes or logs a message have none.
"""

import dataclasses
import random
import re

# Kind -> (what is looked for, what stands in its place). Binary operators have spaces around them
# (.clang-format), which pointers, references and templates have not.
SWAPS = {
    "comparison": {
        " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
    },
    "logic": {" && ": " || ", " || ": " && "},
    "arithmetic": {
        " + ": " - ", " - ": " + ", " * ": " + ", " / ": " * ", " % ": " / ",
        " += ": " -= ", " -= ": " += ", " |= ": " &= ", " &= ": " |= ",
    },
    "bound": {"std::min(": "std::max(", "std::max(": "std::min("},
    "quantifier": {"any_of(": "all_of(", "all_of(": "any_of(", "none_of(": "any_of("},
    "constant": {"true": "false", "false": "true"},
}  # fmt: skip
WORDS = {"true", "false"}
NUMBER = re.compile(r"(?<![\w.'\"#%])(\d+)(?![\w.'])")
NOT = re.compile(r"(?<![\w!=])!(?=[\w(])(?!=)")
IF = re.compile(
    r"^(\s*(?:\} else )?if (?:constexpr )?)\((.*)\)( \{| return.*;| continue;| break;)?$"
)
EARLY = re.compile(r"^\s*(?:if \(.*\) )?(?:return;|continue;|break;)$")
MESSAGES = re.compile(
    r"\bthrow\b|Error\(|\blog::|\bstd::cerr\b|printf\(|to_string\(|\bnotes\b|\bchoices\b|problem"
)
NO_CODE = re.compile(
    r"^\s*(#|using |namespace |template |static_assert|class |struct |enum |case |default:|public:|"
    r"private:|protected:|extern |friend |typedef |assert)"
)

NO_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str  # relative to the root
    line: int  # from 1
    before: str
    after: str  # of the whole line
    kind: str


def blanked(text):
    """The text, with \\0 in place of comments, strings and characters: as long, line by line."""
    return NO_TEXT.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)


def is_message(statement):
    """Does the statement that the line belongs to make a message?"""
    return bool(MESSAGES.search(statement))


def replaced(line, at, old, new):
    return line[:at] + new + line[at + len(old) :]


def swaps(code, line):
    for kind, pairs in SWAPS.items():
        for old, new in pairs.items():
            for found in re.finditer(re.escape(old), code):
                at = found.start()
                around = code[max(0, at - 1) : at] + code[at + len(old) : at + len(old) + 1]
                if old in WORDS and re.search(r"\w", around):
                    continue
                if old in (" + ", " += ") and "\0" in around:
                    continue  # texts are put together
                if old in ("any_of(", "all_of(", "none_of(") and around[:1].isalnum():
                    continue
                yield kind, replaced(line, at, old, new)


def numbers(code, line):
    for found in NUMBER.finditer(code):
        at, text = found.start(), found.group(1)
        if code[:at].count("<") > code[:at].count(">") and not re.search(r"[<>] ", code):
            continue  # of a template: std::get<0>
        yield "constant", replaced(line, at, text, str(int(text) + 1))
        if int(text) > 0:
            yield "constant", replaced(line, at, text, str(int(text) - 1))


def conditions(code, line):
    for found in NOT.finditer(code):
        yield "negation", replaced(line, found.start(), "!", "")
    found = IF.match(code)
    if found and found.group(2).count("(") == found.group(2).count(")") and "constexpr" not in code:
        begin, end = found.span(2)
        has_declaration = ";" in found.group(2) or re.search(r"[^=!<>]=[^=]", found.group(2))
        if not has_declaration:
            yield "condition", line[:begin] + "!(" + line[begin:end] + ")" + line[end:]
    if EARLY.match(code) and code.strip() != "break;":
        yield "early return", re.match(r"\s*", line).group() + ";"


def statements(lines):
    """For each line, the text of the statement that it belongs to."""
    out, begin = [], 0
    for k, line in enumerate(lines):
        if re.search(r"[;{}:]\s*$", line.rstrip("\0 ")) or k + 1 == len(lines):
            out += ["\n".join(lines[begin : k + 1])] * (k + 1 - begin)
            begin = k + 1
    return out


def sites(text):
    """(number of the line, kind, the whole line mutated) of each site, in their order."""
    lines, code = text.split("\n"), blanked(text).split("\n")
    of_statement = statements(code)
    for k, (line, stripped) in enumerate(zip(lines, code)):
        if NO_CODE.match(stripped) or is_message(of_statement[k]) or not stripped.strip("\0 "):
            continue
        for make in (swaps, numbers, conditions):
            for kind, after in make(stripped, line):
                if after != line:
                    yield k + 1, kind, after


def drawn(files, seed):
    """Mutations without end, none twice while there are others. files: name -> text. The same for
    the same files and seed. A kind is drawn first, then a site of it: no kind is rare."""
    by_kind = {}
    for name in sorted(files):
        lines = files[name].split("\n")
        for number, kind, after in sites(files[name]):
            by_kind.setdefault(kind, []).append(
                Mutation(name, number, lines[number - 1], after, kind)
            )
    draw = random.Random(f"mutations {seed}")
    for kind in sorted(by_kind):
        draw.shuffle(by_kind[kind])
    kinds = sorted(by_kind)
    while kinds:
        kind = draw.choice(kinds)
        yield by_kind[kind].pop()
        if not by_kind[kind]:
            kinds.remove(kind)


def applied(text, mutation):
    """The file's text with the mutation; ValueError if its line is another."""
    lines = text.split("\n")
    if lines[mutation.line - 1] != mutation.before:
        raise ValueError(f"{mutation.file}:{mutation.line} is not as it was drawn")
    lines[mutation.line - 1] = mutation.after
    return "\n".join(lines)
