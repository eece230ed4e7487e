"""Strangers at every port of a run of two launchers that meet by TCP (zero3 x 2): they play rank 0
before it starts, and come while the run waits for its ranks and while it trains. They know its
address, port and name, and have recorded a right greeting of an earlier run with the same secret.
Nobody lets them in, and the run ends as one that nobody disturbed."""
import collections
import contextlib
import copy
import hashlib
import hmac
import os
import pathlib
import signal
import socket
import struct
import subprocess
import threading
import time

import faults
from greeting import CHALLENGE, FAILURE, HELLO, WELCOME, frame, take, text

NAME = "strangers"
LONG = 300                              # rounds
VARIANT = "zero3 x 2"
LONGER = ["run.duration=80 steps", "checkpoint.every=20 steps", "eval.every=20 steps"]
LIMIT = 120                             # seconds for the run, whatever strangers do
HELLO_BYTES = 56                        # rank, number of ranks, nonce, proof
JOB = "OMPI_MCA_ess_base_jobid"
RUN_ID = f"mpi {JOB} 77".encode()       # what the ranks call their run
PAUSE = 0.03                            # seconds between two attempts
MOST_IDLE = 400                         # connections that are kept open
LISTENS, CONNECTED = "0A", "01"         # states in /proc/net/tcp


def hello(key, challenge, purpose, rank, nonce=None):
    """By which rank `rank` of 2 would prove to rank 0 that it knows `key`."""
    nonce = nonce or os.urandom(16)
    proved = (text(b"trainx greeting 1") + text(purpose) + text(b"connecting")
              + struct.pack("<qqq", 0, rank, 2) + text(RUN_ID) + text(challenge)
              + text(nonce))
    return struct.pack("<ii", rank, 2) + nonce + hmac.new(key, proved, hashlib.sha256).digest()


def ports_of(processes, state):
    """Local ports of their TCP sockets in a state, of whatever network they are."""
    found = set()
    for process in processes:
        try:
            sockets = {os.readlink(fd) for fd in pathlib.Path(f"/proc/{process}/fd").iterdir()}
            for line in pathlib.Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == state and f"socket:[{words[9]}]" in sockets:
                    found.add(int(words[1].split(":")[1], 16))
        except OSError:
            pass                        # it ended
    return found


def listening_ports(processes):
    return ports_of(processes, LISTENS)


def workers_below(process):
    """Of a launcher, by their process ids."""
    found, left = [], [process]
    while left:
        with contextlib.suppress(OSError, ProcessLookupError):
            folder = pathlib.Path(f"/proc/{left.pop()}")
            if (folder / "comm").read_text().startswith("trainx-worker"):
                found.append(int(folder.name))
            left += map(int, (folder / "task" / folder.name / "children").read_text().split())
    return found


class Slowed:
    """A rank that mostly stands still once it is connected to rank 0, so that ports at which
    another one waits for it stay open for longer than a moment."""
    def __init__(self, launcher):
        self.launcher, self.over, self.held = launcher, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.stop_and_go)
        self.thread.start()

    def signal(self, number):
        for worker in workers_below(self.launcher.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, number)

    def stop_and_go(self):
        while not ports_of(workers_below(self.launcher.pid), CONNECTED):
            if self.over.wait(0.005):
                return
        while not self.over.wait(0.002):
            self.signal(signal.SIGSTOP)
            time.sleep(0.1)
            while self.held.is_set():
                time.sleep(0.01)
            self.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def stopped(self):
        self.signal(signal.SIGSTOP)
        self.held.set()
        try:
            yield
        finally:
            self.held.clear()

    def end(self):
        self.held.clear()
        self.over.set()
        self.thread.join()
        self.signal(signal.SIGCONT)


class Recorder:
    """A proxy between two honest ranks, which keeps what each side says first."""
    def __init__(self, listener, port):
        self.listener, self.port, self.said, self.answered = listener, port, b"", b""
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            with contextlib.suppress(OSError):
                here, _ = self.listener.accept()
                try:
                    there = socket.create_connection(("127.0.0.1", self.port))
                except OSError:
                    here.close()
                    continue
                for ends in ((here, there, "said"), (there, here, "answered")):
                    threading.Thread(target=self.relay, args=ends, daemon=True).start()

    def relay(self, source, target, name):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if len(getattr(self, name)) < 4096:
                    setattr(self, name, getattr(self, name) + data)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def greeting(self, secret):
        """The recorded payload of a hello; messages of rank 0 up to its welcome. Who knows the
        secret computes the same: what strangers make up has the right form."""
        said, challenge = self.said[5:5 + HELLO_BYTES], self.answered[5:21]
        if said != hello(secret.hex().encode(), challenge, b"control", 1, said[8:24]):
            raise RuntimeError(f"no greeting was recorded: {self.said[:80]} {self.answered[:80]}")
        return said, self.answered[:21 + 37]


class Strangers:
    """What they try at a port, and how often."""
    def __init__(self, bench, tally, run_name, greeting):
        self.bench, self.tally, self.random = bench, tally, bench.random
        self.keys = [b"", b"x", run_name.encode(), RUN_ID]
        self.hello, self.welcome = greeting
        self.patience, self.next_visit = 5, 0   # seconds for an answer; when
        self.idle = collections.deque()
        self.times, self.seen = collections.Counter(), collections.Counter()
        self.ports = set()              # that listened while the run trained
        self.kinds = {
            "silence": self.silence, "a flood of connections": self.flood,
            "garbage": self.garbage, "half a header": self.half,
            "a header of 4 GiB": self.huge, "a wrong proof": self.wrong_proof,
            "a recorded greeting": self.replay,
            "the right name without the secret": self.right_name,
            "claiming a rank that has joined": self.claim,
        }

    def connect(self, port):
        return socket.create_connection(("127.0.0.1", port), timeout=self.patience)

    def keep(self, stream):
        self.idle.append(stream)
        while len(self.idle) > MOST_IDLE:
            self.idle.popleft().close()

    def silence(self, port):
        for _ in range(50):
            self.keep(self.connect(port))

    def flood(self, port):
        for _ in range(200):
            self.connect(port).close()

    def garbage(self, port):
        with self.connect(port) as stream:
            stream.sendall(self.random.randbytes(self.random.choice((1, 5, 64, 69, 4096, 100_000))))
            take(stream)

    def half(self, port):
        stream = self.connect(port)
        stream.sendall(frame(HELLO, bytes(HELLO_BYTES))[:self.random.randrange(1, 61)])
        self.keep(stream)

    def huge(self, port):
        with self.connect(port) as stream:
            stream.sendall(struct.pack("<IB", 0xffffffff, HELLO) + 1000 * b"A")
            take(stream)

    def greet(self, port, payload):
        with self.connect(port) as stream:
            kind, challenge = take(stream)
            if kind != CHALLENGE:
                return                  # it closed: all have met
            stream.sendall(frame(HELLO, payload(challenge)))
            if (answer := take(stream)[0]) is not None:
                self.tally.add("wrong", f"a stranger is answered with a message of kind {answer}")

    def purpose(self):
        return self.random.choice((b"control", b"data"))

    def wrong_proof(self, port):
        self.greet(port, lambda _: struct.pack("<ii", 1, 2) + os.urandom(48))

    def replay(self, port):
        self.greet(port, lambda _: self.hello)

    def right_name(self, port):
        key, purpose = self.random.choice(self.keys), self.purpose()
        self.greet(port, lambda challenge: hello(key, challenge, purpose, 1))

    def claim(self, port):
        rank, purpose = self.random.choice((0, 1)), self.purpose()
        self.greet(port, lambda challenge: hello(os.urandom(32), challenge, purpose, rank))

    def attempt(self, what, port, when):
        with contextlib.suppress(OSError):      # sent away
            self.kinds[what](port)
        self.times[what] += 1
        self.seen[when] += 1

    def visit(self, port, when):
        """One attempt, now and then: strangers do not take the machine."""
        if time.monotonic() > self.next_visit:
            self.attempt(self.random.choice(list(self.kinds)), port, when)
            self.next_visit = time.monotonic() + PAUSE

    def crowd(self, ports):
        """Each kind once at ports for data, which close soon."""
        for what in self.kinds:
            if open_ones := sorted(ports()):
                self.attempt(what, self.random.choice(open_ones), "at ports for data")

    def play_rank_0(self, port, seconds):
        """In rank 0's place, before it starts."""
        words = frame(FAILURE, struct.pack("<q", 0) + text(b"all is well, trained 10 steps"))
        lies = (lambda: words, lambda: self.welcome,
                lambda: frame(CHALLENGE, os.urandom(16)) + frame(WELCOME, os.urandom(32)) + words,
                lambda: self.random.randbytes(200), lambda: b"")
        end = time.monotonic() + seconds
        with socket.create_server(("127.0.0.1", port)) as listener:
            listener.settimeout(0.1)
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    stream, _ = listener.accept()
                    with stream:
                        stream.settimeout(0.5)
                        stream.sendall(self.random.choice(lies)())
                        while take(stream)[0] is not None:
                            pass
                    self.times["playing rank 0 before it starts"] += 1

    def close(self):
        while self.idle:
            self.idle.popleft().close()


def on_hosts_of_their_own(bench):
    """The bench whose processes see none of the others': ranks that cannot share memory use TCP.
    Without the right to that (root, or user namespaces), the bench itself."""
    apart = ["unshare", "--fork", "--pid", "--mount-proc", "true"]
    if subprocess.run(apart, stderr=subprocess.DEVNULL).returncode != 0:
        return bench
    program = bench.scratch / "trainx-on-a-host"
    program.write_text(f'#!/bin/sh\nexec unshare --fork --pid --mount-proc {bench.trainx} "$@"\n')
    program.chmod(0o755)
    apart = copy.copy(bench)
    apart.trainx = str(program)
    return apart


def free_port(bench):
    while True:
        port = bench.random.randrange(10000, 20000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def start_rank(bench, rank, port, run, secret):
    env = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2",
           "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1", JOB: "77",
           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TRAINX_SECRET_FILE": str(secret)}
    return bench.start(*bench.train(run, VARIANT, *LONGER), env=env)


def end_both(bench, tally, ranks, what, began):
    for process in ranks:
        left = max(0, began + LIMIT - time.monotonic())
        code = process.end(left)
        if code is None:
            tally.add("hung", f"{what}: no end within {LIMIT} s")
        elif code != 0:
            tally.add("wrong", f"{what}: ended with {code}: {process.words()}")
        elif "all is well" in process.told():
            tally.add("wrong", f"{what}: a stranger's words were passed on")
    tally.worst = max(tally.worst, time.monotonic() - began)
    bench.check_nobody_left(tally, what)


def record(bench, tally, secret):
    """Of an earlier run, whose greeting goes by way of a stranger: (hello, words of rank 0), and
    the result, which nobody disturbs."""
    port = free_port(bench)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        recorder = Recorder(listener, port)
        ranks = [start_rank(bench, 0, port, "earlier", secret),
                 start_rank(bench, 1, listener.getsockname()[1], "earlier", secret)]
        end_both(bench, tally, ranks, "the run before", time.monotonic())
    return recorder.greeting(secret.read_bytes()), bench.result("earlier")


def start_disturbed(bench, strangers, port, secret):
    """The ranks, one of which comes late; strangers fill the time until then."""
    seconds = bench.random.uniform(1, 4)
    if bench.random.random() < 0.5:
        second = start_rank(bench, 1, port, "hurt", secret)
        strangers.play_rank_0(port, seconds)
        return [start_rank(bench, 0, port, "hurt", secret), second]
    first = start_rank(bench, 0, port, "hurt", secret)
    end = time.monotonic() + LIMIT
    while not listening_ports(bench.living()) and time.monotonic() < end:
        time.sleep(0.05)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        strangers.visit(port, "while it waits for its ranks")
        time.sleep(0.005)
    return [first, start_rank(bench, 1, port, "hurt", secret)]


def ports_for_data(ranks, meeting):
    workers = [worker for rank in ranks for worker in workers_below(rank.pid)]
    return listening_ports(workers) - {meeting}


def one_run(bench, tally, strangers, secret, wanted):
    bench.remove("hurt")
    port, began = free_port(bench), time.monotonic()
    ranks = start_disturbed(bench, strangers, port, secret)
    strangers.patience = 0.1
    slowed = Slowed(ranks[1])
    try:
        while (any(rank.process.poll() is None for rank in ranks)
               and time.monotonic() < began + LIMIT):
            trains = (bench.folder("hurt") / "metrics.jsonl").exists()
            if trains:
                slowed.end()
            ports = ports_for_data(ranks, port)
            if ports and trains:
                strangers.ports |= ports
            elif ports:
                with slowed.stopped():
                    strangers.crowd(lambda: ports_for_data(ranks, port))
            strangers.visit(port, "while it trains" if trains else "while its ranks join")
    finally:
        slowed.end()
    strangers.patience = 5
    end_both(bench, tally, ranks, "a disturbed run", began)
    strangers.close()
    if all(rank.process.returncode == 0 for rank in ranks):
        result = bench.result("hurt")
        for part, value in wanted.items():
            if result[part] != value:
                tally.add("wrong", f"a disturbed run: {part}: "
                          f"{faults.difference(result[part], value)}")


def table(strangers, tally):
    """What strangers tried, as rows."""
    print(f"| what a stranger tried | times | the runs ({tally.rounds}) |\n|---|--:|---|")
    outcome = "something is wrong, see above" if tally.failed() else "end as the undisturbed one"
    for what, times in strangers.times.items():
        print(f"| {what} | {times} | {outcome} |")
    print(", ".join(f"{times} {when}" for when, times in strangers.seen.items())
          + f"; ports that listen while it trains: {len(strangers.ports)}", flush=True)


def run(bench, tally):
    apart = on_hosts_of_their_own(bench)
    secret = bench.scratch / "secret"
    secret.write_bytes(os.urandom(32))
    secret.chmod(0o600)
    greeting, wanted = record(apart, tally, secret)
    strangers = Strangers(bench, tally, "hurt", greeting)
    for _ in bench.rounds(tally):
        one_run(apart, tally, strangers, secret, wanted)
        tally.rounds += 1
    table(strangers, tally)
