"""What the tests of packing share: documents one a line and packed, runs on either, their
losses."""
import json

from support import Trainx

RECIPE = """\
run: {{name: r, seed: {seed}, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: {layers}, num_heads: 2, hidden_size: {hidden}, max_positions: {length}, vocab_size: 97, dropout: {dropout}}}}}
data: {{type: jsonl, train: {train}.jsonl, eval: {train}_eval.jsonl, sequence_length: {length}, shuffle: false{more}}}
batch: {{global_batch_size: {batch}, micro_batch_size: {micro}}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: constant}}
eval: {{every: {steps} steps, batches: 100}}
metrics: {{every: 1 steps}}
"""
LENGTH = 64


class PackedDocuments(Trainx):
    forks = True

    def documents(self, count, longest):
        """Of mixed length, most of them short; each counts up from a random token, so that there is
        something to learn."""
        return self.documents_of(
            [min(longest, 2 + int(self.random.expovariate(4 / longest))) for _ in range(count)])

    def documents_of(self, lengths):
        return [[(first + i) % 97
                 for i in range(length)]
                for length in lengths
                for first in [self.random.randrange(97)]]

    def write(self, name, documents):
        (self.folder / f"{name}.jsonl").write_text("".join(
            json.dumps({"input_ids": d}) + "\n" for d in documents))

    def pack(self, name, out, length=LENGTH):
        return json.loads(
            self.run_trainx("data", "pack", f"{name}.jsonl", "--sequence-length", length, "--out",
                            f"{out}.jsonl", "--json").stdout)

    def prepare(self, count=24, longest=LENGTH):
        """The same documents one a line (alone) and packed, for training and held out; rows of
        each."""
        rows = {}
        for kind in ("", "_eval"):
            self.write(f"alone{kind}", self.documents(count, longest))
            rows[kind] = self.pack(f"alone{kind}", f"packed{kind}")
        self.assertLess(rows[""]["rows"], count)
        return rows

    def train(self, train, *settings, batch, micro=1, steps=6, dropout=0, more="", expect=0,
              **sizes):
        sizes = {"layers": 2, "hidden": 32, "length": LENGTH} | sizes
        self.recipe(
            RECIPE.format(seed=3, steps=steps, train=train, batch=batch, micro=micro,
                          dropout=dropout,
                          more=more + (", packed: true" if train == "packed" else ""), **sizes),
            "r.yaml")
        return self.run_trainx(
            "train", "r.yaml",
            "run.name=" + train + "".join(s for s in "".join(settings) if s.isalnum()),
            "checkpoint.resume=never", *settings, expect=expect)

    def numbers(self, name):
        lines = [
            json.loads(line)
            for line in (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()
        ]
        return [m["loss"] for m in lines if "loss" in m
                ] + [m["eval_loss"] for m in lines if "eval_loss" in m]

    def close(self, a, b, tolerance):
        self.assertGreater(len(a), 6, "losses and a held-out one")
        self.assertEqual(len(a), len(b))
        for x, y in zip(a, b):
            self.assertLess(abs(x - y) / abs(y), tolerance, f"{a}\n{b}")
