"""Scripts without a suffix as modules, and the plans that they ask for as forks."""
import importlib.machinery
import importlib.util
import os
import sys

import forked
from support import MANY_COMMANDS, ROOT


def script(*path):
    """The module of a script by its path below the root: script("bench", "plans")."""
    file = ROOT.joinpath(*path)
    loader = importlib.machinery.SourceFileLoader("_".join(path), str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


def plan_as_fork(words, **_):
    """For a script's subprocess.run of a plan, of which there are many."""
    return forked.run(MANY_COMMANDS, words[1:], ROOT, dict(os.environ))
