"""Runs reference scripts for reference.py: torch and transformers are imported once, and each
script runs in a fork.

Reads lines of JSON {"script", "args", "stdin", "cwd"}, and answers each with {"code", "stdout",
"stderr", "processor_seconds"}: on stdin, or for all that connect to the socket that its argument
names."""
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
import traceback

import torch  # noqa: F401  (imported for the forks)
import transformers

transformers.AutoTokenizer, transformers.GPT2LMHeadModel, transformers.GPT2Config  # lazy: named so that they are imported here
transformers.BertModel, transformers.TrainingArguments, transformers.get_scheduler



def fill_caches_of_export():
    """Forks of a process that has exported something export in two thirds of the time. Nothing
    asks for gradients here: a fork cannot use an engine of autograd that ran."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.Linear(4, 4), torch.nn.GELU(),
                                torch.nn.LayerNorm(4))
    auto = torch.export.Dim.AUTO
    torch.export.export(model, (torch.zeros(3, 8, dtype=torch.long),), strict=False,
                        dynamic_shapes=({0: auto, 1: auto},)).run_decompositions({})


PREPARE = {"reference_exported.py": fill_caches_of_export}     # before the first fork for a script
MOST_IDLE_SECONDS = 900                 # then whoever began has ended without a word


def run(script, args, stdin, cwd):
    PREPARE.pop(os.path.basename(script), int)()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile(
    ) as told, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in enumerate((given, told, errors)):
                os.dup2(file.fileno(), number)
            code = 1
            try:
                sys.argv = [script, *args]
                os.chdir(cwd)
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
        _, status, used = os.wait4(child, 0)
        for file in (told, errors):
            file.seek(0)
        text = [file.read().decode("utf-8", "surrogateescape") for file in (told, errors)]
        return {"code": os.waitstatus_to_exitcode(status), "stdout": text[0], "stderr": text[1],
                "processor_seconds": used.ru_utime + used.ru_stime}


def answer(questions, answers):
    for line in questions:
        answers.write(json.dumps(run(**json.loads(line))) + "\n")
        answers.flush()


def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    listener.settimeout(MOST_IDLE_SECONDS)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)      # nobody waits for those who answer
    while True:
        try:
            peer, _ = listener.accept()
        except TimeoutError:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            answer(peer.makefile("r"), peer.makefile("w"))
            os._exit(0)
        peer.close()


if len(sys.argv) > 1:
    serve(sys.argv[1])
else:
    answer(sys.stdin, sys.stdout)
