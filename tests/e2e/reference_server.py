"""Runs reference scripts for reference.py: torch and transformers are imported once, and each script runs in a fork.

Reads a JSON line {"script", "args", "stdin"}, answers with one of {"code", "stdout", "stderr"}."""
import json
import os
import runpy
import sys
import tempfile
import traceback

import torch  # noqa: F401  (imported for the forks)
import transformers

transformers.AutoTokenizer, transformers.GPT2LMHeadModel, transformers.GPT2Config  # lazy: named so that they are imported here


def run(script, args, stdin):
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in enumerate((given, told, errors)):
                os.dup2(file.fileno(), number)
            code = 1
            try:
                sys.argv = [script, *args]
                sys.path[0] = os.path.dirname(script)
                runpy.run_path(script, run_name="__main__")
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        for file in (told, errors):
            file.seek(0)
        text = [file.read().decode("utf-8", "surrogateescape") for file in (told, errors)]
        return {"code": os.waitstatus_to_exitcode(status), "stdout": text[0], "stderr": text[1]}


for line in sys.stdin:
    print(json.dumps(run(**json.loads(line))), flush=True)
