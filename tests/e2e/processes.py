"""Processes of this machine, as /proc tells of them. Any of them may end while it is looked at."""
import os
import pathlib
import time


def stat_of(pid):
    """(name, [state, parent, ...]) of /proc/PID/stat; None: there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, fields = text.split("(", 1)[1].rsplit(")", 1)
    return name, fields.split()


def state_of(pid):
    """R, S, D, T, Z, ...; X: there is no such process."""
    stat = stat_of(pid)
    return stat[1][0] if stat else "X"


def name_of(pid):
    """The first 15 bytes of its name; empty: there is no such process."""
    stat = stat_of(pid)
    return stat[0] if stat else ""


def files_of(pid):
    """Targets of the files that it has open, as the kernel names them."""
    found = []
    try:
        links = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return found
    for link in links:
        try:
            found.append(os.readlink(link))
        except OSError:
            pass                        # closed since it was listed
    return found


def children_of(parent, name=""):
    """Ids of what any thread of a process started and whose name begins so, in the order of their
    start, which for workers is that of their ranks."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        stat = stat_of(folder.name)
        if stat and int(stat[1][1]) == parent and stat[0].startswith(name):
            found.append((int(stat[1][19]), int(folder.name)))
    return [pid for _, pid in sorted(found)]


def thread_states(pid):
    """Of a process; X: there is none."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*")
    return [state_of(f"{pid}/task/{task.name}") for task in tasks] or ["X"]


def is_alive(pid):
    """A process of which a thread is neither gone nor waits to be asked how it ended: its first one
    may have ended before others, which hold its files."""
    return any(state not in "ZX" for state in thread_states(pid))


def wait_for_state(pid, states, seconds=30):
    """Waits until all threads of a process are in one of the states."""
    deadline = time.monotonic() + seconds
    while not set(now := thread_states(pid)) <= set(states):
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} is in states {now}, not in {states}")
        time.sleep(0.001)
