#!/usr/bin/env python3
"""Stands in a worker's place: does what STUB_<rank>, else STUB, says, words for words: `out TEXT;
err TEXT; sleep S; exit N; ...`.

Leaves in STUB_FOLDER a file job-<rank>-<start>.json of what it was given. `first WORDS` is done at
a rank's first start alone."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from described import nothing_of_its_own

NAMES = {
    signal.SIGTERM: "TERM", signal.SIGINT: "INT", signal.SIGUSR1: "USR1", signal.SIGUSR2: "USR2"
}
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGUSR1: 75}


def describe():
    print(nothing_of_its_own(os.environ["STUB_VERSION"]))


class Worker:
    def __init__(self):
        self.folder = pathlib.Path(os.environ["STUB_FOLDER"])
        with os.fdopen(3, "rb") as job:
            self.job = json.load(job)
        self.rank = self.job["membership"]["rank"]
        self.start = sum(1 for _ in self.folder.glob(f"job-{self.rank}-*.json"))
        self.ignored = False

    def listen(self, number, _):
        with open(self.folder / f"signals-{self.rank}", "a") as log:
            log.write(NAMES[number] + " ")
        if number in CODES and not self.ignored:
            os._exit(CODES[number])

    def begin(self):
        for number in NAMES:
            signal.signal(number, self.listen)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NAMES)
        aside = self.folder / f".job-{self.rank}"
        aside.write_text(json.dumps({"pid": os.getpid(), **self.job["membership"]}))
        aside.rename(self.folder / f"job-{self.rank}-{self.start}.json")

    def do(self, line):
        word, _, rest = line.strip().partition(" ")
        if word == "first":
            return self.start == 0 and self.do(rest)
        if word in ("out", "err"):
            print(rest.replace("\\n", "\n"), file=sys.stdout if word == "out" else sys.stderr,
                  flush=True)
        elif word == "flood":
            for i in range(int(rest)):
                sys.stderr.write(f"{i} " + 90 * "x" + "\n")
        elif word == "sleep":
            end = time.monotonic() + float(rest)
            while time.monotonic() < end:
                time.sleep(0.02)
        elif word == "exit":
            os._exit(int(rest))
        elif word == "kill":
            os.kill(os.getpid(), int(rest))
        elif word == "ignore":
            self.ignored = True
        elif word == "make-folder":
            os.makedirs(self.job["run_folder"], exist_ok=True)
        elif word == "terminal":
            print("a terminal" if os.isatty(2) else "no terminal", file=sys.stderr, flush=True)
        elif word == "child":
            subprocess.Popen(["sleep", "1000"])
        elif word == "meet":
            self.meet()
        elif word == "await-all":
            self.await_all()
        elif word:
            raise ValueError(line)

    def meet(self):
        """Rank 0 takes the others in at its inherited descriptor."""
        m = self.job["membership"]
        if self.rank > 0:
            with socket.create_connection((m["address"], m["port"]), timeout=20) as s:
                s.sendall(m["secret"].encode())
            return
        listener = socket.socket(fileno=m["listener"])
        listener.settimeout(20)
        for _ in range(m["world_size"] - 1):
            with listener.accept()[0] as s, s.makefile() as text:
                assert text.read() == m["secret"]

    def await_all(self):
        """Ends after each rank has begun, as no worker ends before it has met the others: its
        launcher then takes the secret of the start away."""
        deadline = time.monotonic() + 20
        while not all((self.folder / f"job-{rank}-{self.start}.json").exists()
                      for rank in range(self.job["membership"]["world_size"])):
            assert time.monotonic() < deadline, "a rank has not begun"
            time.sleep(0.02)


def main():
    if sys.argv[1:] == ["--describe"]:
        return describe()
    worker = Worker()
    worker.begin()
    for line in os.environ.get(f"STUB_{worker.rank}", os.environ.get("STUB", "")).split(";"):
        worker.do(line)


main()
