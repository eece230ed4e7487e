"""Commands of trainx as forks of processes that have loaded what they need
(tests/support/command_server.hpp): a fork costs a millisecond, a worker that loads LibTorch a
third of a second."""

import atexit
import json
import os
import pathlib
import subprocess
import threading

import starts

WITH_WORKER = {"train", "eval", "generate", "bench", "verify", "sweep"}
# Variables that libraries read when they are loaded: a fork has those of its process.
AT_LOAD = ("LD_", "GLIBC_", "MALLOC_", "OMP_", "GOMP_", "KMP_", "MKL_", "ATEN_", "TORCH_")
RANK = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}  # of a launcher's rank
MOST_IDLE = 3  # processes that wait for a command

choosing = threading.Lock()  # tests ask in threads of their own
idle = []  # [(program, variables at load, process)], the last one used last


class ManyCommands:
    """One process that runs commands one after the other."""

    def __init__(self, program, variables):
        """With the variables at load; a test may look for processes by all others."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(AT_LOAD)}
        self.process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=own | {"CUDA_VISIBLE_DEVICES": ""} | variables,
        )
        self.used = 0.0  # processor seconds of its commands

    def ask(self, words, folder, environment, **more):
        """{"code", "out", "err", "processor_s", "memory_bytes"} of a command; a code below 0 is a
        signal. More: input, its stdin, and the limits seconds, processor_s and memory_bytes."""
        question = {"words": [str(w) for w in words], "folder": str(folder)}
        question |= {"environment": environment} | more
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"{self.process.args[0]} ended at {words}")
        answer = json.loads(answer)
        self.used += answer["processor_s"]
        starts.count_fork(question["words"], answer["processor_s"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)
        starts.elsewhere -= self.used  # the system counts them from here on


def at_load(environment):
    return {k: v for k, v in environment.items() if k.startswith(AT_LOAD)}


def program_for(words, environment, build):
    """The program that forks such a command; None if there is none, or it needs a new process."""
    named = [w for w in words if w == "--worker" or w.startswith("--worker=")]
    named += [environment["TRAINX_WORKER"]] if environment.get("TRAINX_WORKER") else []
    command = next((w for w in words if not w.startswith("-")), None)
    runs = command in WITH_WORKER and not named and not {"--help", "-h"} & set(words)
    mine, its = at_load(os.environ), at_load(environment)
    changed = {k for k in mine.keys() | its.keys() if mine.get(k) != its.get(k)}
    # ranks of several launchers must be of one program
    if runs and (any(w.startswith("--nnodes") for w in words) or RANK & environment.keys()):
        return None
    # code that is loaded before or in place of LibTorch's
    if "LD_PRELOAD" in changed or (runs and any(k.startswith("LD_") for k in changed)):
        return None
    program = pathlib.Path(build) / "tests" / ("many_runs" if runs else "many_commands")
    return program if program.exists() else None    # scripts/pack carries none


def ask(program, words, folder, environment, **more):
    """Runs a command in a process that is idle, else in a new one, which is kept."""
    variables = at_load(environment)
    with choosing:
        idle[:] = [one for one in idle if one[2].process.poll() is None]  # it may have been killed
        at = next((i for i, (p, v, _) in enumerate(idle) if (p, v) == (program, variables)), None)
        process = None if at is None else idle.pop(at)[2]
    process = process or ManyCommands(program, variables)
    answer = process.ask(words, folder, environment, **more)
    with choosing:
        idle.append((program, variables, process))
        ended = idle[:-MOST_IDLE]
        del idle[:-MOST_IDLE]
    for _, _, one in ended:
        one.close()
    return answer


def run(program, words, folder, environment, **more):
    """As subprocess.run says it of texts."""
    answer = ask(program, words, folder, environment, **more)
    out, err = (answer[k].replace("\r\n", "\n").replace("\r", "\n") for k in ("out", "err"))
    return subprocess.CompletedProcess(words, answer["code"], out, err)


@atexit.register
def end():
    while idle:
        idle.pop()[2].close()
