"""Strings that tokenizers find hard: all of Unicode, much of it unassigned, marks in every order,
control characters, their own special tokens; and text."""
import json
import os
import pathlib
import sys

WORDS = (
    "the quick brown fox Don't we'll I'M they'RE it'\u017f don\u2019t na\u00efve caf\u00e9 STRASSE stra\u00dfe \u0130stanbul \u03a3\u0399\u03a3\u03a5\u03a6\u039f\u03a3 \u041f\u0440\u0438\u0432\u0435\u0442 "
    "\u65e5\u672c\u8a9e \u30c6\u30b9\u30c8 \u4e2d\u6587\u5b57\u7b26 \ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22 \u05e2\u05d1\u05e8\u05d9\u05ea "
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 e\u0301te\u0301 \u00c9T\u00c9 \ufb01ne \u00c5 \u00bd \u2460 \u337f 3.14 1234567 0x1F __init__ a.b C++ (x) [y] {z} <s> </s> <mask> [MASK] [CLS] "
    "<|endoftext|> <|eot_id|> <|begin_of_text|> tool_call tool_calls \u2581 \u0120 \u010a ## ##ing <0x41> <unk> \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd"
).split(" ")
SPACES = [
    " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\r", " \n", "\u00a0", "\u3000",
    "\u2028", "\u200b", "\x0b", "\x0c", "\x1c", "\x85", "\ufeff", ""
]
EDGES = [
    0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10FFFF, 0xFDD0, 0xF8FF, 0xD7A3, 0xD7A4, 0x200D,
    0xFE0F, 0x20E3, 0x1F1E6, 0xE0041, 0xE0100, 0, 0x7F, 0x80, 0xAD, 0x130, 0x131, 0x17F, 0x212A,
    0x1E9E, 0x3A3, 0x32FF, 0x11938, 0x11935, 0x11930, 0x344, 0xFB1D, 0x1D15E
]


def code_point(random):
    kind = random.random()
    if kind < 0.2:
        return random.randrange(0x20, 0x7F)
    if kind < 0.3:
        return random.randrange(0, 0x20)
    if kind < 0.45:
        return random.randrange(0x80, 0x3000)
    if kind < 0.6:
        return random.choice([
            random.randrange(0x300, 0x370),
            random.randrange(0x1AB0, 0x1B00),
            random.randrange(0x1DC0, 0x1E00),
            random.randrange(0x900, 0xE80)
        ])
    if kind < 0.7:
        return random.choice(EDGES)
    if kind < 0.8:
        return random.randrange(0x1F000, 0x1FB00)
    while True:
        c = random.randrange(0, 0x110000)
        if not 0xD800 <= c < 0xE000:
            return c


def text(random):
    out = []
    for _ in range(random.randrange(0, 12)):
        kind = random.random()
        if kind < 0.45:
            out.append(random.choice(WORDS))
        elif kind < 0.75:
            out.append("".join(chr(code_point(random)) for _ in range(random.randrange(1, 6))))
        elif kind < 0.8:
            out.append(chr(code_point(random)) * random.randrange(1, 70))
        elif kind < 0.85:
            out.append("".join(random.choice("abcdefgh ") for _ in range(random.randrange(1, 200))))
        out.append(random.choice(SPACES))
    return "".join(out)


def lines(random, count):
    """JSON lines, a fifth of them pairs."""
    for _ in range(count):
        line = {"text": text(random)}
        if random.random() < 0.2:
            line["text_pair"] = text(random)
        yield json.dumps(line)


def python_sources(most_bytes):
    """Text that is on every machine: Python's own library."""
    out, size = [], 0
    for path in sorted(pathlib.Path(os.__file__).parent.glob("*.py")) + sorted(
            pathlib.Path(os.__file__).parent.glob("*/*.py")):
        contents = path.read_text(errors="replace")
        out.append(contents)
        size += len(contents.encode())
        if size > most_bytes:
            break
    return out


if __name__ == "__main__":
    import random as source
    for row in lines(source.Random(int(sys.argv[1])), int(sys.argv[2])):
        print(row)
