"""Readers of stderr and stdout that are slow or never read: training and saving go on, and
nothing is left out silently."""

import json
import os
import shutil
import signal
import subprocess
import time
from support import TRAINX, Trainx, main, tiny

WAITS = "for runs whose output nobody reads"


def everything(descriptor):
    """All that is written until every writer has closed it."""
    said = b""
    while piece := os.read(descriptor, 65536):
        said += piece
    return said


class SlowReaders(Trainx):
    def start(self, *args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        recipe = self.recipe(
            tiny(steps=100000, every=100000)
            .replace("type: cosine, warmup: 5 steps", "type: constant")
            .replace("every: 20 steps", "every: 100000 steps")
            .replace("layers: 2", "layers: 1")
            .replace("hidden_size: 32", "hidden_size: 8")
        )
        return subprocess.Popen(
            [TRAINX, "train", recipe, *args],
            cwd=self.folder,
            stdout=stdout,
            stderr=stderr,
            env=self.environment(OMP_NUM_THREADS="1"),
        )

    def last_step(self):
        path = self.folder / "outputs" / "tiny" / "metrics.jsonl"
        # The last piece is a line that is being written, or nothing.
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return json.loads(lines[-1])["step"] if lines else 0

    def wait_for_step(self, step, seconds=120):
        deadline = time.monotonic() + seconds
        while self.last_step() < step:
            self.assertLess(
                time.monotonic(), deadline, f"training stands still at step {self.last_step()}"
            )
            time.sleep(0.1)

    def full_pipe(self):
        """A pipe that nobody reads, full but for a page."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"." * 4095 + b"\n")
        except BlockingIOError:
            pass
        os.set_blocking(writing, True)
        return reading, writing

    def ends_and_saves(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 128 + signal.SIGTERM)
        self.assertEqual(self.status("tiny")["saved_step"], self.status("tiny")["step"])
        self.run_trainx("ckpt", "verify", "outputs/tiny")

    def test_nobody_reads_stderr(self):
        for world in (1, 2):
            with self.subTest(world=world):
                shutil.rmtree(self.folder / "outputs", ignore_errors=True)
                reading, writing = self.full_pipe()
                process = self.start(f"parallel.world_size={world}", stderr=writing)
                os.close(writing)
                self.addCleanup(process.kill)
                self.wait_for_step(30)
                self.ends_and_saves(process)
                os.close(reading)

    def test_the_last_lines_reach_a_late_reader(self):
        reading, writing = self.full_pipe()
        process = self.start("parallel.world_size=2", stderr=writing)
        os.close(writing)
        self.addCleanup(process.kill)
        self.wait_for_step(10)
        process.send_signal(signal.SIGTERM)
        said = everything(reading)
        self.assertEqual(process.wait(30), 128 + signal.SIGTERM)
        self.assertIn(b"stopped at step", said)  # what is said last arrives
        os.close(reading)

    def test_nobody_reads_events(self):
        reading, writing = self.full_pipe()
        errors_reading, errors_writing = os.pipe()
        process = self.start("--json", stdout=writing, stderr=errors_writing)
        os.close(writing), os.close(errors_writing)
        self.addCleanup(process.kill)
        self.wait_for_step(30)
        self.ends_and_saves(process)
        said = everything(errors_reading)
        self.assertRegex(said, rb"\d+ lines of stdout are lost")
        os.close(reading), os.close(errors_reading)

    def test_events_wait_for_a_slow_reader(self):
        reading, writing = self.full_pipe()
        process = self.start("--json", stdout=writing)
        os.close(writing)
        self.addCleanup(process.kill)
        self.wait_for_step(40)
        process.send_signal(signal.SIGUSR1)
        said = everything(reading)
        self.assertEqual(process.wait(30), 75)
        events = [json.loads(line) for line in said.decode().splitlines() if line.startswith("{")]
        steps = [e["step"] for e in events if e["event"] == "step"]
        self.assertEqual(steps, [m["step"] for m in self.metrics("tiny")])
        os.close(reading)


if __name__ == "__main__":
    main()
