"""What a script of tests costs, for scripts/times.

Where TRAINX_STARTS names a folder, SCRIPT.json in it holds, when the script ends:
{"starts": {"all": N, "train": N, ...}, "forks": {"all": N, ...},
"tests": {NAME: [seconds, seconds of processors]}}. Starts are processes of trainx that the script
itself starts, by command; forks are commands of trainx that needed no new process (forked.py).
"""

import atexit
import json
import os
import pathlib
import resource
import sys

starts, forks, tests = {"all": 0}, {"all": 0}, {}
elsewhere = 0.0  # processor seconds that other processes, which still run, spent for this script


def count(words, among):
    among["all"] += 1
    for command in words[:1]:
        among[command] = among.get(command, 0) + 1


def count_fork(words, seconds):
    """Of a command that took some seconds of processors."""
    global elsewhere
    count(words, forks)
    elsewhere += seconds


def count_starts(program):
    folder = os.environ.get("TRAINX_STARTS")
    if not folder:
        return

    def hear(event, arguments):
        if event != "subprocess.Popen":
            return
        words = [os.fspath(w) for w in arguments[1] or []]
        if program not in words[:4]:  # behind a wrapper: timeout, setarch, ...
            return
        count(words[words.index(program) + 1 :], starts)

    def write():
        place = pathlib.Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        name = pathlib.Path(sys.argv[0]).stem + ".json"
        (place / name).write_text(json.dumps({"starts": starts, "forks": forks, "tests": tests}))

    sys.addaudithook(hear)
    atexit.register(write)


def processor_seconds():
    """Of this process, of those that it has waited for, and of references that it asked for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return elsewhere + sum(one.ru_utime + one.ru_stime for one in used)
