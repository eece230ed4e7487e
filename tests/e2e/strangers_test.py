"""A run of two launchers that meet by TCP, and strangers who know its address, port and name: they
neither join it, nor end it, nor keep it from starting. The greeting is computed here anew."""
import contextlib
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import sys
import time

from ports import free_ports
from support import ROOT, TRAINX, Trainx, main, tiny

sys.path.insert(0, str(ROOT / "tests" / "faults"))
from greeting import CHALLENGE, FAILURE, HELLO, WELCOME, frame, take, text  # noqa: E402

STEPS = 6


def number(value):
    return struct.pack("<q", value)


class Strangers(Trainx):
    def setUp(self):
        super().setUp()
        self.config = self.recipe(tiny(STEPS, every=STEPS))
        self.port, = free_ports(1)
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def launch(self, node, *more, quiet=("-q",)):
        flags = ["--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "1",
                 "--master-addr", "127.0.0.1", "--master-port", str(self.port), *more]
        process = subprocess.Popen([TRAINX, *quiet, "train", self.config, *flags], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(OMP_NUM_THREADS="1"))
        self.started.append(process)
        return process

    def connect(self):
        """As soon as rank 0 listens."""
        deadline = time.monotonic() + 120
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=60)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def hello(self, key, challenge, rank=1):
        """The payload by which rank `rank` of 2 proves that it knows `key`."""
        run, nonce = f"flags 127.0.0.1:{self.port} tiny".encode(), os.urandom(16)
        proved = (text(b"trainx greeting 1") + text(b"control") + text(b"connecting") + number(0)
                  + number(rank) + number(2) + text(run) + text(challenge) + text(nonce))
        mac = hmac.new(key, proved, hashlib.sha256).digest()
        return struct.pack("<ii", rank, 2) + nonce + mac

    def answers(self, payload):
        """What rank 0 says to a hello, which may follow from its challenge."""
        with self.connect() as stream:
            kind, challenge = take(stream)
            self.assertEqual(kind, CHALLENGE)
            stream.sendall(frame(HELLO, payload(challenge) if callable(payload) else payload))
            return take(stream)[0]

    def check_trained(self, processes):
        for process in processes:
            out, err = process.communicate(timeout=240)
            self.assertEqual(process.returncode, 0, err)
            self.assertNotIn("all is well", out + err)
        self.assertEqual([m["step"] for m in self.metrics("tiny")], list(range(1, STEPS + 1)))

    def test_at_the_port_of_rank_0(self):
        first = self.launch(0)
        silent = [self.connect() for _ in range(200)]
        for size in (1, 4, 64, 65, 100_000):
            with self.connect() as stream:
                self.assertEqual(take(stream)[0], CHALLENGE)
                with contextlib.suppress(ConnectionError):
                    stream.sendall(self.random.randbytes(size))
        with self.connect() as stream:
            stream.sendall(struct.pack("<IB", 0xffffffff, HELLO) + 1000 * b"A")
            self.assertIn(take(stream)[0], (CHALLENGE, None))
            self.assertIsNone(take(stream)[0])
        run = f"flags 127.0.0.1:{self.port} tiny".encode()
        for key in (b"x", run, b"tiny"):              # the right name without the secret
            self.assertIsNone(self.answers(lambda challenge, key=key: self.hello(key, challenge)))
        self.assertIsNone(self.answers(os.urandom(56)))
        secret = (self.folder / "outputs" / ".tiny.secret").read_bytes().hex().encode()
        said = []
        self.assertEqual(self.answers(lambda c: said.append(self.hello(secret, c)) or said[0]),
                         WELCOME)
        self.assertIsNone(self.answers(said[0]))      # what was recorded
        second = self.launch(1)
        self.check_trained([first, second])
        for stream in silent:
            stream.close()

    def test_other_secrets_are_told_of_while_both_wait(self):
        both = []
        for node in (0, 1):
            secret = self.folder / f"secret-{node}"
            secret.write_bytes(self.random.randbytes(32))
            secret.chmod(0o600)
            both.append(self.launch(node, "--secret-file", str(secret), quiet=()))
        for process in both:
            for line in process.stderr:
                if "secret file" in line:
                    break
            else:
                self.fail("nothing was told")
            self.assertIsNone(process.poll(), "it waits on")

    def test_in_the_place_of_rank_0(self):
        words = frame(FAILURE, number(0) + text(b"all is well, trained 10 steps"))
        with socket.create_server(("127.0.0.1", self.port)) as listener:
            second = self.launch(1)
            listener.settimeout(120)
            for lie in ("guess", "reflect", "failure"):
                stream, _ = listener.accept()
                with stream:
                    stream.settimeout(60)
                    if lie == "failure":
                        stream.sendall(words)
                        continue
                    stream.sendall(frame(CHALLENGE, os.urandom(16)))
                    kind, payload = take(stream)
                    self.assertEqual((kind, len(payload)), (HELLO, 56))
                    proof = payload[-32:] if lie == "reflect" else os.urandom(32)
                    stream.sendall(frame(WELCOME, proof) + words)
                    self.assertEqual(take(stream), (None, b""), "the rank goes on by itself")
            self.assertIsNone(second.poll())
        self.check_trained([self.launch(0), second])


if __name__ == "__main__":
    main()
