"""Runs units side by side, each with a time limit of its own, and says how each test ended."""
import collections
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from listing import ROOT

NO_GPU = "no GPU on this machine"       # of tests/support/skip.hpp and tests/e2e/gpu_checks.py
NO_TIME = "the run's time was over"
PAUSE = 0.05                            # seconds between looks at processes
MARK = "TRAINX_GPU_UNIT"                # in the environment of what a unit starts
RESERVE = 1.5                           # times the estimates of what runs alone; half of the time
                                        # at most
SHOWN_LINES = 40
SCRIPTS_OF_A_GPU = 6                    # side by side: each starts many processes, and the driver
                                        # makes their contexts one after the other


class Pool:
    """`deadline`: of time.monotonic(); what does not run, or does not end, by then is told as
    `no time`. `gpus`: names for CUDA_VISIBLE_DEVICES, of which a process sees the least busy one
    first. `ended`: is called with the rows of all processes that are over, after each."""
    def __init__(self, folder, slots, deadline, environment, say=print, gpus=(),
                 ended=lambda rows: None):
        self.folder, self.slots, self.deadline = pathlib.Path(folder), slots, deadline
        self.environment, self.say, self.gpus = environment, say, list(gpus)
        self.rows, self.count, self.ended = [], 0, ended

    def run(self, units):
        """A row for each test: entry, test, part, result, seconds, why."""
        units = sorted(units, key=lambda u: -u.estimate)
        beside = [u for u in units if not u.alone]
        alone = [u for u in units if u.alone]
        reserve = min(RESERVE * sum(u.estimate for u in alone),
                      (self.deadline - time.monotonic()) / 2)
        self.run_phase(beside, self.slots, self.deadline - reserve)
        self.run_phase(alone, 1, self.deadline)
        return self.rows

    def run_phase(self, units, slots, end):
        waiting, running = collections.deque(units), []
        try:
            while running or (waiting and time.monotonic() < end):
                while len(running) < slots and time.monotonic() < end:
                    if (unit := self.next_of(waiting, running)) is None:
                        break
                    running.append(Running(self, unit, end, self.gpus_in_turn(running)))
                time.sleep(PAUSE)
                for process in [r for r in running if r.is_over()]:
                    running.remove(process)
                    if left := process.finish():
                        waiting.appendleft(left)
                    self.ended(self.rows)
        finally:
            for process in running:     # of a run that is interrupted
                process.kill()
        for unit in waiting:
            for test in unit.tests:
                self.add(test, "no time", 0, NO_TIME)

    def next_of(self, waiting, running):
        """Taken out of `waiting`: the first that is no script once scripts keep the GPUs busy."""
        scripts = sum(r.unit.entry.is_script() for r in running)
        full = scripts >= SCRIPTS_OF_A_GPU * max(1, len(self.gpus))
        unit = next((u for u in waiting if not (full and u.entry.is_script())), None)
        if unit:
            waiting.remove(unit)
        return unit

    def gpus_in_turn(self, running):
        """All of them, the one that the fewest running processes see first before the others."""
        busy = collections.Counter(r.gpus[0] for r in running if r.gpus)
        return sorted(self.gpus, key=lambda gpu: busy[gpu])

    def add(self, test, result, seconds, why=""):
        self.rows.append({"entry": test.entry.name, "test": test.name, "part": test.part,
                          "result": result, "seconds": round(seconds, 2), "why": why})


def escaped(name):
    """A name in a file of names, where Catch2 gives commas and brackets a meaning."""
    return re.sub(r'([\\,\[\]"])', r"\\\1", name)


class Running:
    """The process of a unit."""
    def __init__(self, pool, unit, end, gpus):
        pool.count += 1
        self.pool, self.unit, self.began, self.gpus = pool, unit, time.monotonic(), gpus
        self.end, self.timed_out = min(self.began + unit.limit, end), False
        self.late = "no time" if end < self.began + unit.limit else "timeout"
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{pool.count:03}-{unit.label()}")[:120]
        self.log = pool.folder / f"{stem}.log"
        self.record = pool.folder / f"{stem}.record"
        self.mark = f"{os.getpid()}-{pool.count}"
        environment = {**pool.environment, **dict(unit.entry.environment), MARK: self.mark,
                       "TRAINX_TEST_RECORD": str(self.record)}
        if gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        if unit.tests[0].part:
            environment["TRAINX_TEST_PART"] = unit.tests[0].part
        try:
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(
                    self.command(stem), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, env=environment, cwd=ROOT, start_new_session=True)
        except OSError as error:
            self.log.write_text(f"{error}\n")
            self.process = None

    def command(self, stem):
        command = self.unit.entry.command()
        if self.unit.entry.is_script():
            return command + [test.name for test in self.unit.tests]
        names = self.pool.folder / f"{stem}.names"
        names.write_text("".join(f"{escaped(test.name)}\n" for test in self.unit.tests))
        return [*command, "-f", str(names)]

    def is_over(self):
        if self.process is None or self.process.poll() is not None:
            return True
        if time.monotonic() < self.end:
            return False
        self.timed_out = True
        self.kill()
        return True

    def kill(self):
        """All that it started, also in sessions of their own."""
        if self.process is None:
            return
        self.process.kill()
        for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"{MARK}={self.mark}".encode() in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                pass                    # ended, or another's
        self.process.wait()

    def finish(self):
        """Adds a row for each test that is over; the unit of those that are not."""
        seconds = time.monotonic() - self.began
        ended = self.recorded()
        failed, left = False, []
        stopped = self.how_it_stopped(ended)
        for test in self.unit.tests:
            line = ended.get(test.name)
            if line is None:
                left.append(test)
            elif line["result"] == "began":
                failed = True
                self.pool.add(test, self.late if self.timed_out else "failed", seconds, stopped)
            else:
                failed |= self.add_ended(test, line)
        if left and (not stopped or len(left) == len(self.unit.tests)):
            failed = True
            why = stopped or "did not run: the process does not know it"
            for test in left:
                self.pool.add(test, self.late if self.timed_out else "failed",
                              seconds / len(left), why)
            left = []
        elif stopped and not failed:
            # after its last test: a fault of what ends the process
            failed = True
            self.pool.rows[-1].update(result="failed", why=stopped)
        self.tell(failed, seconds)
        return dataclasses.replace(self.unit, tests=left) if left else None

    def add_ended(self, test, line):
        result, why = line["result"], line.get("why", "")
        if result == "skipped" and why.startswith(NO_GPU):
            result, why = "failed", f"{why}, says the test; the driver lists one"
        self.pool.add(test, result, line["seconds"],
                      why or ("see its log" if result == "failed" else ""))
        return result == "failed"

    def recorded(self):
        """The last line of each test."""
        try:
            lines = self.record.read_text(errors="replace").splitlines()
        except OSError:
            return {}
        self.record.unlink()
        told = {}
        for line in lines:
            try:
                said = json.loads(line)
                told[said["test"]] = said
            except ValueError:
                pass                    # the process ended while it wrote
        return told

    def how_it_stopped(self, ended):
        """Why it ended before its time; empty if it did not."""
        if self.timed_out:
            over = f"{NO_TIME}: " if self.late == "no time" else ""
            return f"{over}no end within {self.end - self.began:.0f} s"
        if self.process is None:
            return "cannot be started"
        code = self.process.returncode
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        results = {line["result"] for line in ended.values()}
        expected = {1} if "failed" in results else {0, 77}
        if code in expected and "began" not in results:
            return ""
        return f"exit code {code}" + (" before its end" if "began" in results else "")

    def tell(self, failed, seconds):
        # the tests of a killed unit are told with what is left of them
        say = self.pool.say
        say(f"{'FAILED' if failed else 'ok':6} {seconds:6.1f} s  {self.unit.label()}")
        if failed:
            lines = self.log.read_text(errors="replace").splitlines()
            for line in lines[-SHOWN_LINES:]:
                say(f"    {line}")
