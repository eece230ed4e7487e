"""Counts how often a script of tests starts trainx, for scripts/times.

Where TRAINX_STARTS names a folder, SCRIPT.json in it holds {"all": N, "train": N, ...} when the
script ends; N counts processes that the script itself starts, by command.
"""

import atexit
import json
import os
import pathlib
import sys


def count_starts(program):
    folder = os.environ.get("TRAINX_STARTS")
    if not folder:
        return
    counted = {"all": 0}

    def hear(event, arguments):
        if event != "subprocess.Popen":
            return
        words = [os.fspath(w) for w in arguments[1] or []]
        if program not in words[:4]:  # behind a wrapper: timeout, setarch, ...
            return
        command = words[words.index(program) + 1 :][:1]
        counted["all"] += 1
        for word in command:
            counted[word] = counted.get(word, 0) + 1

    def write():
        place = pathlib.Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / (pathlib.Path(sys.argv[0]).stem + ".json")).write_text(json.dumps(counted))

    sys.addaudithook(hear)
    atexit.register(write)
