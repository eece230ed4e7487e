#!/usr/bin/env python3
"""What --help prints: wrapped to the terminal's width, in sentences, without the validators of the
option parser."""
import fcntl
import functools
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import forked  # noqa: E402
from support import MANY_COMMANDS, ROOT, TRAINX, Trainx, main  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import generated_tables  # noqa: E402


@functools.cache
def commands():
    def ask(*words):
        return forked.run(MANY_COMMANDS, words, ROOT, dict(os.environ)).stdout
    return [(), *(path for path, _ in generated_tables.all_commands(ask))]


class Help(Trainx):
    forks = True

    def help_of(self, command, **environment):
        return self.run_trainx(*command, "--help", env=self.environment(**environment)).stdout

    def helps(self, all_commands, width):
        """(command, its help) of each."""
        answers = self.run_many([[*command, "--help"] for command in all_commands],
                                env=self.environment(COLUMNS=str(width)))
        self.assertEqual({answer["code"] for answer in answers}, {0})
        return [(command, answer["out"]) for command, answer in zip(all_commands, answers)]

    def test_lines_fit_the_width(self):
        every = commands()
        self.assertGreater(len(every), 20)
        for width in (80, 60):
            for command, text in self.helps(every, width):
                for line in text.splitlines():
                    words = line.split()
                    self.assertTrue(
                        len(line) <= width or len(words) == 1 or line.lstrip().startswith("-"),
                        f"{command} {width}: {line}")
        # Without COLUMNS and a terminal: 80. Values out of reason are brought to 40 and 100.
        env = {k: v for k, v in self.environment().items() if k != "COLUMNS"}
        plain = subprocess.run([TRAINX, "train", "--help"], capture_output=True, text=True, env=env,
                               check=True).stdout
        self.assertEqual(plain, self.help_of(("train",), COLUMNS="80"))
        self.assertEqual(self.help_of(("train", ), COLUMNS="1000"),
                         self.help_of(("train", ), COLUMNS="100"))
        self.assertEqual(self.help_of(("train", ), COLUMNS="3"),
                         self.help_of(("train", ), COLUMNS="40"))
        self.assertEqual(self.help_of(("train",), COLUMNS="wide"), plain)

    def test_a_terminals_width_is_used(self):
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 64, 0, 0))
        env = {k: v for k, v in self.environment().items() if k != "COLUMNS"}
        process = subprocess.Popen([TRAINX, "validate", "--help"], stdout=secondary, env=env)
        os.close(secondary)
        text = b""
        try:
            while piece := os.read(primary, 4096):
                text += piece
        except OSError:                                        # the other side has closed
            pass
        self.assertEqual(process.wait(), 0)
        self.assertEqual(text.decode().replace("\r\n", "\n"),
                         self.help_of(("validate", ), COLUMNS="64"))

    def test_no_validators_show(self):
        for _, text in self.helps(commands(), 80):
            self.assertNotRegex(text, r"INT in|FLOAT in|:INT|:FLOAT|REQUIRED")

    def test_every_text_is_a_sentence(self):
        """Descriptions and options begin with a capital or a value, and end with a full stop."""
        for command, text in self.helps(commands(), 100):
            text = re.sub(r"\n {24}(?=\S)", " ", text)
            for line in text.splitlines():
                entry = re.match(r"  (?:-|[A-Za-z])\S*(?:,? \S+)*? {2,}(\S.*)$", line)
                if entry:
                    self.assertTrue(entry[1].endswith("."), f"{command}: {line}")


if __name__ == "__main__":
    main()
