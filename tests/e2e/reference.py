"""Asks the reference scripts (reference_*.py) in the Python that has torch and transformers.
Importing them takes seconds,
so that one process imports them (reference_server.py): for a whole file of tests, or for all of
them between
`reference.py start` and `reference.py stop`, which ctest runs."""
import atexit
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import starts

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("TRAINX_BUILD_DIR", "")
# Not in the build folder: the names of sockets are short.
SOCKET = pathlib.Path(
    tempfile.gettempdir()) / f"trainx-reference-{hashlib.sha256(BUILD.encode()).hexdigest()[:16]}"
PID = SOCKET.with_suffix(".pid")
# Threads of torch that wait by spinning take the cores from the tests beside them. References compute
# on the CPU: a process that has begun CUDA cannot be forked, and torch begins it unasked.
ENVIRONMENT = os.environ | {"OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""}
MODELS = 20                 # that are tried until routers choose clearly
connection = None


def start():
    if not PYTHON:
        return
    stop()
    server = subprocess.Popen([PYTHON, HERE / "reference_server.py", SOCKET],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True, env=ENVIRONMENT)
    PID.write_text(str(server.pid))


def stop():
    if is_running():
        os.kill(int(PID.read_text()), signal.SIGTERM)
    for left in (PID, SOCKET):
        left.unlink(missing_ok=True)


def is_running():
    """Whether the process that `start` began is there, and no other has its number now."""
    try:
        return b"reference_server.py" in pathlib.Path("/proc", PID.read_text(),
                                                      "cmdline").read_bytes()
    except OSError:
        return False


def connect():
    """(what to write questions to, what to read answers from)"""
    while is_running():                 # it imports for some seconds before it listens
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(str(SOCKET))
            return peer.makefile("w"), peer.makefile("r")
        except OSError:
            peer.close()
            time.sleep(0.1)
    server = subprocess.Popen([PYTHON, HERE / "reference_server.py"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def end():
        server.stdin.close()
        server.wait(10)
    atexit.register(end)
    return server.stdin, server.stdout


def run(script, *args, stdin="", cwd=None):
    """(exit code, stdout, stderr) of a script in this folder."""
    global connection
    if connection is None:
        connection = connect()
    questions, answers = connection
    question = {
        "script": str(HERE / script), "args": [str(a) for a in args], "stdin": stdin,
        "cwd": str(cwd or os.getcwd())
    }
    questions.write(json.dumps(question) + "\n")
    questions.flush()
    answer = answers.readline()
    if not answer:
        raise RuntimeError("reference_server.py ended")
    answer = json.loads(answer)
    starts.elsewhere += answer["processor_seconds"]
    return answer["code"], answer["stdout"], answer["stderr"]


def ask(test, script, *args, asks=None, cwd=None):
    """What the script prints, as JSON; None if it prints nothing. `asks` is JSON for its stdin."""
    code, told, errors = run(script, *args, stdin="" if asks is None else json.dumps(asks) + "\n",
                             cwd=cwd)
    test.assertEqual(code, 0, errors)
    lines = told.strip().splitlines()
    return json.loads(lines[-1]) if lines else None


def train_clearly(test, case, folder, seed, *words):
    """Makes a tiny family and trains it: the answer of reference_decoder.py `train FOLDER *words`
    for the first model from `seed` on whose routers do not choose experts by rounding."""
    for one in range(seed, seed + MODELS):
        _, answer = ask(test, "reference_decoder.py", "all",
                        asks=[["make", case, str(folder), one], ["train", str(folder), *words]])
        if answer["clear"]:
            return answer
    return test.fail(f"{case}: routers of {MODELS} models choose experts by rounding")


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]]()
