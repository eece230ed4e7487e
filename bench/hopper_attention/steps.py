#!/usr/bin/env python3
"""Steps of GPT-2 in two ways by turns, on the same GPU. By default with model.attention auto and
cudnn: what kernels of Hopper's own instructions change in a step.

  bench/hopper_attention/steps.py TRAINX [SIZE:BATCH[:LENGTH] ...] [--rounds N]
  bench/hopper_attention/steps.py TRAINX 124m:64 --ways precision.products={fp8,compute}
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "driver"))
import samples  # noqa: E402

SECONDS = 1.5                                   # of a round


class Steps:
    def __init__(self, trainx, settings):
        self.process = subprocess.Popen(
            [trainx, "bench", "step", str(ROOT / "configs/bench/gpt2.yaml"), *settings,
             "--paced"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.rates, self.joules = [], []
        self.answer("ready")

    def answer(self, event):
        for line in self.process.stdout:
            try:
                got = json.loads(line)
            except ValueError:
                continue
            if got.get("event") == event:
                return got
        raise SystemExit(f"trainx ended with {self.process.wait()} before `{event}`")

    def go(self, steps):
        self.process.stdin.write(f"go {steps}\n")
        self.process.stdin.flush()
        return self.answer("round")

    def finish(self):
        self.process.stdin.close()
        done = self.answer("done")
        if self.process.wait() != 0:
            raise SystemExit(f"trainx ended with {self.process.returncode}")
        return done


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainx")
    parser.add_argument("rows", nargs="*", default=["124m:64", "124m:4", "124m:1", "350m:32"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs=2, metavar="SETTING",
                        default=["model.attention=auto", "model.attention=cudnn"])
    a = parser.parse_args()
    ways = {setting.partition("=")[2]: setting for setting in a.ways}
    one_way, other_way = ways
    for row in a.rows:
        size, batch, length = (row.split(":") + ["1024"])[:3]
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "train.bin"
            samples.write_tokens(tokens, int(length))
            settings = [f"model.size={size}", f"data.train={tokens}",
                        f"data.sequence_length={length}", f"batch.micro_batch_size={batch}",
                        f"batch.global_batch_size={batch}"]
            if int(length) > 1024:
                settings.append(f"model.options.max_positions={length}")
            both = {kind: Steps(a.trainx, [*settings, way]) for kind, way in ways.items()}
            steps = {}
            for kind, one in both.items():      # warm-up, and how many steps a round takes
                first = one.go(10)
                steps[kind] = max(10, round(10 * SECONDS / first["seconds"]))
            for _ in range(a.rounds):
                for kind, one in both.items():
                    got = one.go(steps[kind])
                    one.rates.append(steps[kind] * int(batch) * int(length) / got["seconds"])
                    one.joules.append((got.get("joules") or 0) / steps[kind])
            done = {kind: one.finish() for kind, one in both.items()}
        rate = {kind: statistics.median(one.rates) for kind, one in both.items()}
        print(json.dumps({
            "row": f"gpt2-{size}-{batch}x{length}", "tokens_per_s": rate,
            "ratio": rate[one_way] / rate[other_way],
            "least": {kind: min(one.rates) for kind, one in both.items()},
            "joules_per_1000_tokens": {
                kind: statistics.median(one.joules) / int(batch) / int(length) * 1000
                for kind, one in both.items()},
            "loss": {kind: d.get("loss") for kind, d in done.items()},
            "peak_memory_bytes": {kind: d.get("peak_memory_bytes") for kind, d in done.items()},
        }), flush=True)


if __name__ == "__main__":
    main()
