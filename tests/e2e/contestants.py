"""bench/drive with contestants that only pretend, for the tests of the driver."""
import json
import subprocess
import sys

from support import ROOT, Trainx

# Speaks the protocol. Its name goes into FOLDER/turns when a round runs; a round claims the seconds
# that the traits say, and takes none.
FAKE = '''
import json, os, pathlib, sys, time
folder, name, *traits = sys.argv[1:]
wait = "--wait" in traits
traits = dict(t.split("=") for t in traits if t != "--wait")
def say(event, **what): print(json.dumps({"event": event, **what}), flush=True)
def note(text):
    with open(os.path.join(folder, "turns"), "a") as f: f.write(text + "\\n")
def out_of_memory():
    sys.stderr.write("torch.OutOfMemoryError: CUDA out of memory.\\n"); sys.exit(1)
note(f"start {name}")
if "broken" in traits: sys.stderr.write("one line\\nno such thing\\n"); sys.exit(3)
if "memory" in traits and not pathlib.Path(folder, "freed").exists():
    pathlib.Path(folder, "freed").touch(); out_of_memory()
print("a library says hello", flush=True)
if wait:
    say("loaded")
    if sys.stdin.readline() != "begin\\n": sys.exit(4)
    note(f"begin {name}")
say("ready", first_step_seconds=float(traits.get("first", 1)))
steps, rounds = 0, 0
for line in sys.stdin:
    n = int(line.split()[1]); note(name); rounds += 1
    if rounds == int(traits.get("dies_in", 0)): sys.stderr.write("the kernel failed\\n"); os.abort()
    if "hangs" in traits: time.sleep(600)
    time.sleep(float(traits.get("sleep", 0)))
    each = float(traits["step"]) * (1 + (rounds - 3) ** 2 / 100)       # the third is the fastest
    steps += n
    say("round", steps=n, seconds=n * each, joules=None if "no_energy" in traits else 7.0 * n)
say("done", tool=name, samples_per_step=int(traits.get("samples", 4)), tokens_per_step=32, peak_memory_bytes=int(traits.get("peak", 2**30)),
    loss=float(traits.get("loss", 2.5)), versions={"torch": "9.9"}, commit="c0ffee", predicted_peak_memory_bytes=2**30, predicted_step_time_ms=11.0)
'''


class Driven(Trainx):
    """Each test has a driver, fake contestants and a program that is called as trainx is."""

    def setUp(self):
        super().setUp()
        self.out, self.fake = self.folder / "out", self.folder / "fake.py"
        self.fake.write_text(FAKE)
        self.ours("step=0.01")

    def ours(self, *traits):
        """A program that is called as trainx is."""
        program = self.folder / "ours"
        run = f"exec {sys.executable} {self.fake} {self.folder} trainx {' '.join(traits)}"
        program.write_text(f'#!/bin/sh\necho "$@" >"{self.folder}/arguments"\n{run}\n')
        program.chmod(0o755)

    def row(self, name="tiny", unit="samples", **peers):
        peers = {
            peer.replace("_", " "): f"{self.fake} {self.folder} {peer} {traits}"
            for peer, traits in peers.items()
        }
        return {
            "name": name, "title": f"Tiny <{name}>", "unit": unit, "batch": 4, "length": 8,
            "recipe": "configs/bench/gpt2.yaml", "peers": peers, "goal": 500, "goal_ratio": 1.5,
            "against": "plain", "goal_memory": {"share": 0.9}, "set_up_seconds": 1
        }

    def drive(self, *args, rows=None, expect=0):
        command = [sys.executable, ROOT / "bench" / "drive", *map(str, args)]
        if rows is not None:
            (self.folder / "rows.json").write_text(json.dumps(rows))
            command += [
                "--rows-file", self.folder / "rows.json", "--trainx", self.folder / "ours", "--out",
                self.out, "--seconds-per-round", "0.1"
            ]
        done = subprocess.run(command, capture_output=True, text=True,
                              env=self.environment(CUDA_VISIBLE_DEVICES=""), timeout=120)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def answer(self, name="tiny"):
        return json.loads((self.out / f"{name}.json").read_text())

    def turns(self):
        return (self.folder / "turns").read_text().splitlines()
