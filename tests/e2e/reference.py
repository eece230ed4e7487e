"""Asks the reference scripts (reference_*.py) in the Python that has torch and transformers. Importing them takes seconds,
so that one process imports them for a whole file of tests (reference_server.py)."""
import atexit
import json
import os
import pathlib
import subprocess

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
HERE = pathlib.Path(__file__).parent
server = None


def end():
    server.stdin.close()
    server.wait(10)


def run(script, *args, stdin=""):
    """(exit code, stdout, stderr) of a script in this folder."""
    global server
    if server is None:
        server = subprocess.Popen([PYTHON, str(HERE / "reference_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(end)
    question = {"script": str(HERE / script), "args": [str(a) for a in args], "stdin": stdin}
    server.stdin.write(json.dumps(question) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise RuntimeError(f"reference_server.py ended with {server.wait(10)}")
    answer = json.loads(answer)
    return answer["code"], answer["stdout"], answer["stderr"]


def ask(test, script, *args, asks=None):
    """What the script prints, as JSON; None if it prints nothing. `asks` is JSON for its stdin."""
    code, told, errors = run(script, *args, stdin="" if asks is None else json.dumps(asks))
    test.assertEqual(code, 0, errors)
    lines = told.strip().splitlines()
    return json.loads(lines[-1]) if lines else None
