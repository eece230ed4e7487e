"""Whole sentences that tests hold, in one file: tests/golden/sentences.json.

TRAINX_GOLDEN=rewrite writes what is said there instead of comparing.
The rules of normalised() are those of tests/support/golden.cpp.
"""
import fcntl
import json
import os
import pathlib
import re
import socket
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FILE = SOURCE / "tests" / "golden" / "sentences.json"
REMEDY = ("if it is meant to be so: TRAINX_GOLDEN=rewrite, "
          "and read the change of tests/golden/sentences.json")
_told = {}


def normalised(text, folder=None, numbers="exact"):
    """What depends on the machine becomes <folder>, <source>, <pid>, <host>;
    with numbers="any" also <size>, <time>, <n>."""
    text = text.rstrip("\n")
    if folder:
        text = text.replace(str(folder), "<folder>")
    text = re.sub(
        re.escape(tempfile.gettempdir()) + r"/trainx[-_][A-Za-z0-9_.-]+", "<folder>", text)
    text = text.replace(str(SOURCE), "<source>")
    text = re.sub(r"\b(process|pid) [0-9]+", r"\1 <pid>", text)
    text = text.replace(" on " + socket.gethostname(), " on <host>")
    if numbers == "any":
        text = re.sub(r"\b[0-9]+(\.[0-9]+)? ([KMGT]i?B|kB|B)\b", "<size>", text)
        text = re.sub(r"\b[0-9]+(\.[0-9]+)? (s|ms|us|min|h)\b", "<time>", text)
        text = re.sub(r"\b[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?\b", "<n>", text)
    return text


def difference(key, text):
    """What is wrong with a normalised sentence, or None."""
    if _told.setdefault(key, text) != text:
        return f"one key, two sentences: {key}\n  {_told[key]}\n  {text}"
    if os.environ.get("TRAINX_GOLDEN") == "rewrite":
        return write(key, text)
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    if key not in kept:
        return f"tests/golden/sentences.json has no {key}: {text}\n{REMEDY}"
    return None if kept[key] == text else f"{key}\n  was  {kept[key]}\n  is   {text}\n{REMEDY}"


def write(key, text):
    """Tests that run side by side write one after the other; one that is killed leaves the old
    file."""
    FILE.parent.mkdir(exist_ok=True)
    folder = os.open(FILE.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        kept = json.loads(FILE.read_text()) if FILE.exists() else {}
        if kept.get(key) != text:
            aside = FILE.with_name(FILE.name + ".new")
            kept[key] = text
            aside.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
            aside.replace(FILE)
    finally:
        os.close(folder)
