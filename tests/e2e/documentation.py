"""Pages of the documentation as a test sees them: fenced blocks, and the comment before a block
that says how it is tested.

    <!-- test: run [key=value ...] -->       run it (the default of `sh`); settings go into
    TRAINX_SET, to keep a run short
    <!-- test: exit N -->                    run it; the block ends with that exit code
    <!-- test: parse WHY [key=value ...] --> needs what the test lacks: trainx must accept the
    flags, and the recipe if it is there
    <!-- test: skip WHY -->                  neither
    <!-- test: file NAME -->                 `yaml`: the block is that file of the page's folder,
    too
"""
import dataclasses
import pathlib
import re
import shlex

MARK = re.compile(r"\s*<!-- test: (\w+)(?: (.*?))? -->\s*$")
FENCE = re.compile(r"^( *)```(\w*)\s*$")
SETTINGS = re.compile(r"(?:^|\s)([a-z_.]+=.*)")


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int                           # of the opening fence
    language: str
    text: str
    mark: str = ""                      # run, exit, parse, skip, file; empty: none
    rest: str = ""

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"

    @property
    def settings(self):
        """For TRAINX_SET: from the first key=value on."""
        found = SETTINGS.search(self.rest) if self.mark in ("run", "parse") else None
        return found[1] if found else ""

    def commands(self):
        """Logical lines: comments and continuations are resolved, bodies of here-documents left
        out."""
        lines, current, until = [], "", None
        for line in self.text.splitlines():
            if until is not None:
                until = None if line.strip() == until else until
                continue
            current += line
            if current.endswith("\\"):
                current = current[:-1]
                continue
            here = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", current)
            until = here[1] if here else None
            if current.strip() and not current.lstrip().startswith("#"):
                lines.append(current.strip())
            current = ""
        return lines


def blocks(page):
    found, lines, number = [], page.read_text().splitlines(), 0
    mark = None
    while number < len(lines):
        line = lines[number]
        if marked := MARK.match(line):
            mark = marked
        elif fence := FENCE.match(line):
            start, indent = number, len(fence[1])
            number += 1
            text = []
            while lines[number].strip() != "```":
                text.append(lines[number][indent:])
                number += 1
            found.append(
                Block(page, start + 1, fence[2], "\n".join(text) + "\n", mark[1] if mark else "",
                      (mark[2] or "") if mark else ""))
            mark = None
        elif line.strip():
            if mark:
                raise ValueError(f"{page}:{number + 1}: a test mark stands before no block")
        number += 1
    return found


def trainx_calls(line):
    """Arguments of each trainx in a command line, whoever starts it: `torchrun --no-python trainx
    train r.yaml` -> [["train", "r.yaml"]]."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    calls, current, skip = [], None, False
    for word in lexer:
        if set(word) <= set("|&;()<>"):
            skip = ">" in word or "<" in word
            current = current if skip else None
        elif skip:
            skip = False                # the file of a redirection
        elif current is None and word in ("trainx", "scripts/trainx"):
            current = []
            calls.append(current)
        elif current is not None:
            current.append(word)
    return calls


def slug(heading):
    """The anchor of a heading, as mkdocs and code hosts make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\s-]", "", text.replace("`", "")).strip().lower()
    return re.sub(r"\s", "-", text)


def outside_fences(text):
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    return {
        slug(m[1])
        for m in re.finditer(r"^#+ (.*)$", outside_fences(page.read_text()), re.MULTILINE)
    }
