"""Commands of trainx as forks of one process (tests/support/many_commands.cpp), for tests that ask
many questions and start no worker."""

import json
import subprocess


class ManyCommands:
    """One process that runs commands one after the other."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, words, folder, environment, **limits):
        """{"code", "out", "err", "processor_s", "memory_bytes"} of a command; a code below 0 is a
        signal. Limits: processor_s and memory_bytes."""
        question = {"words": [str(w) for w in words], "folder": str(folder)}
        question |= {"environment": environment} | limits
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"many_commands ended at {words}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)
