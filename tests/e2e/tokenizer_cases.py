"""What tests of tokenizers share: tokenizers made by the reference, and lines that go through it
and through trainx."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import random_text
from support import LONG, Trainx

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
REFERENCE = pathlib.Path(__file__).with_name("reference_tokenizers.py")
NEEDS_PYTHON = unittest.skipUnless(
    PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with tokenizers (scripts/setup --reference installs one)"
)


def reference(*args, stdin=None):
    return subprocess.run([PYTHON, str(REFERENCE), *map(str, args)], input=stdin,
                          capture_output=True, check=True).stdout.decode()


class Tokenizers(Trainx):
    """Tokenizers of every kind lie in self.made."""
    forks = True

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="trainx-tokenizers-")
        cls.addClassCleanup(cls.made.cleanup)
        folder = pathlib.Path(cls.made.name)
        # A text of many scripts, so that tokens are made of them too.
        source = random.Random(1)
        text = "\n".join(random_text.python_sources(300_000)) + "\n".join(
            " ".join(source.choice(random_text.WORDS) for _ in range(12)) for _ in range(1500))
        (folder / "text.txt").write_text(text)
        if PYTHON:
            reference("make", folder, folder / "text.txt", 8000 if LONG else 1500)

    def kinds(self):
        return sorted(p.parent.name for p in pathlib.Path(self.made.name).glob("*/tokenizer.json"))

    def trainx_lines(self, tokenizer, lines, *more):
        done = self.run_trainx("data", "tokenize", "-", "--tokenizer", tokenizer, *more,
                               text="\n".join(lines) + "\n")
        return [json.loads(line) for line in done.stdout.rstrip("\n").split("\n")]

    def compare(self, tokenizer, wanted_of, lines):
        """Both ways, with special tokens and without."""
        wanted = [
            json.loads(line)
            for line in reference("encode", wanted_of, stdin="\n".join(lines).encode() +
                                  b"\n").rstrip("\n").split("\n")
        ]
        self.assertEqual(len(wanted), len(lines))
        ours, plain = self.trainx_lines(tokenizer,
                                        lines), self.trainx_lines(tokenizer, lines, "--plain")
        back = [json.dumps({"input_ids": w["input_ids"]}) for w in wanted]
        decoded, decoded_plain = self.trainx_lines(tokenizer, back, "--decode"), self.trainx_lines(
            tokenizer, back, "--decode", "--plain")
        for line, w, o, p, d, dp in zip(lines, wanted, ours, plain, decoded, decoded_plain,
                                        strict=True):
            got = {
                "input_ids": o["input_ids"], "token_type_ids": o.get("token_type_ids",
                                                                     [0] * len(o["input_ids"])),
                "plain": p["input_ids"], "decoded": d["text"], "decoded_plain": dp["text"]
            }
            self.assertEqual(got, w, line)
