"""Ports for tests that name one. The system never hands them out by itself, so nobody's connection
takes one before the run under test listens. trainx computes none of them from a job's number. A
test's process keeps its ports until it ends."""
import fcntl
import os
import pathlib
import random
import socket
import tempfile

FIRST, LAST = 10000, 19999
TRIES = 1000


def _is_free(port):
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def _hold(port):
    """Until this process ends; False where another process of tests has it."""
    lock = os.open(pathlib.Path(tempfile.gettempdir()) / f"trainx-test-port-{port}",
                   os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    return True


def free_ports(count):
    chance, found = random.SystemRandom(), []
    for _ in range(TRIES):
        if len(found) == count:
            return found
        port = chance.randint(FIRST, LAST)
        if port not in found and _hold(port) and _is_free(port):
            found.append(port)
    raise OSError(f"no {count} free ports between {FIRST} and {LAST}")
