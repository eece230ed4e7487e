"""Documents packed into rows as a user does it: the losses of documents one by one, whatever else is asked for, and more of them a second."""
import json
import statistics
import struct
import unittest

from support import Trainx, main

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


class Packing(Trainx):
    def documents(self, count, longest):
        """Of mixed length, most of them short; each counts up from a random token, so that there is something to learn."""
        lengths = [min(longest, 2 + int(self.random.expovariate(4 / longest))) for _ in range(count)]
        return [[(first + i) % 97 for i in range(length)] for length in lengths for first in [self.random.randrange(97)]]

    def write(self, name, documents):
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps({"input_ids": d}) + "\n" for d in documents))

    def pack(self, name, out, length=LENGTH):
        return json.loads(self.run_trainx("data", "pack", f"{name}.jsonl", "--sequence-length", length, "--out", f"{out}.jsonl", "--json").stdout)

    def prepare(self, count=24, longest=LENGTH):
        """The same documents one a line (alone) and packed, for training and held out; rows of each."""
        rows = {}
        for kind in ("", "_eval"):
            self.write(f"alone{kind}", self.documents(count, longest))
            rows[kind] = self.pack(f"alone{kind}", f"packed{kind}")
        self.assertLess(rows[""]["rows"], count)
        return rows

    def train(self, train, *settings, batch, micro=1, steps=6, dropout=0, more="", expect=0, **sizes):
        sizes = {"layers": 2, "hidden": 32, "length": LENGTH} | sizes
        self.recipe(RECIPE.format(seed=3, steps=steps, train=train, batch=batch, micro=micro, dropout=dropout, more=more + (", packed: true" if train == "packed" else ""), **sizes), "r.yaml")
        return self.run_trainx("train", "r.yaml", "run.name=" + train + "".join(s for s in "".join(settings) if s.isalnum()), "checkpoint.resume=never", *settings, expect=expect)

    def numbers(self, name):
        lines = [json.loads(line) for line in (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()]
        return [m["loss"] for m in lines if "loss" in m] + [m["eval_loss"] for m in lines if "eval_loss" in m]

    def close(self, a, b, tolerance):
        self.assertGreater(len(a), 6, "losses and a held-out one")
        self.assertEqual(len(a), len(b))
        for x, y in zip(a, b):
            self.assertLess(abs(x - y) / abs(y), tolerance, f"{a}\n{b}")

    def test_packed_documents_have_the_losses_of_documents_one_by_one(self):
        rows = self.prepare()
        count = 24
        self.train("alone", batch=count, micro=4, more=f", pad_to: [{LENGTH}]")
        alone = self.numbers("alone")
        packed = rows[""]["rows"]
        self.train("packed", batch=packed)
        whole = self.numbers("packed")
        self.close(whole, alone, 1e-5)
        self.assertLess(whole[5], whole[0], "it learns")
        answer = json.loads(self.run_trainx("eval", "outputs/packed", "--json").stdout.splitlines()[-1])
        self.close([answer["eval_loss"]] * 7, [whole[-1]] * 7, 1e-6)
        # Whatever cuts the step another way changes no bit, or just the order of sums.
        self.train("packed", "memory.activation_checkpoint=full", batch=packed)
        self.assertEqual(self.numbers("packedmemoryactivationcheckpointfull"), whole)
        self.train("packed", "model.attention=math", batch=packed)
        self.close(self.numbers("packedmodelattentionmath"), alone, 1e-5)
        self.train("packed", "precision.compute=bf16", batch=packed)
        self.close(self.numbers("packedprecisioncomputebf16"), alone, 2e-2)

    def test_over_ranks_and_with_dropout_the_losses_stay(self):
        rows = self.prepare(count=40)
        batch = rows[""]["rows"] // 2 * 2
        self.train("packed", batch=batch, dropout=0.1)
        whole = self.numbers("packed")
        for mode in ("ddp", "dp", "zero3"):
            self.train("packed", "parallel.world_size=2", f"parallel.mode={mode}", batch=batch, dropout=0.1)
            self.close(self.numbers("packedparallelworldsize2parallelmode" + mode), whole, 1e-5)

    def test_packed_rows_train_more_documents_a_second(self):
        length = 256
        self.write("alone", self.documents(64, length))
        self.write("alone_eval", self.documents(4, length))
        about = self.pack("alone", "packed", length)
        self.pack("alone_eval", "packed_eval", length)
        self.assertLess(about["padding_share"] + 0.3, about["padding_share_unpacked"])
        rates = {"alone": [], "packed": []}
        for _ in range(3):                  # in turns, so that a slow moment of the machine meets both
            for name, batch, micro in (("alone", 64, 8), ("packed", about["rows"], 1)):
                self.train(name, batch=batch, micro=micro, steps=5, hidden=128, length=length)
                rates[name].append(statistics.median(m["tokens_per_second"] for m in self.metrics(name)[1:]))
                for run in (self.folder / "outputs").iterdir():
                    run.rename(self.folder / f"{run.name}-{len(rates[name])}")
        ratio = statistics.median(rates["packed"]) / statistics.median(rates["alone"])
        print(f"packed documents train {ratio:.2f} times as many tokens a second: {rates}")
        self.assertGreater(ratio, 1.5)

    def test_mistakes(self):
        self.prepare()
        for train, settings, code, says in (
                ("packed", ["data.packed=false"], 65, "packed.jsonl:1: has document_lengths"),
                ("packed", ["run.device=gpu"], 78, "data.packed"),
                ("packed", ["data.truncate=true"], 78, "truncate"),
                ("packed", ["data.sequence_length=32"], 65, "more than data.sequence_length")):
            with self.subTest(str(settings)):
                done = self.train(train, *settings, batch=2, expect=code)
                self.assertIn(says, done.stderr)
        (self.folder / "packed.jsonl").write_text('{"input_ids": [1, 2], "document_lengths": [3]}\n')
        self.assertIn("packed.jsonl:1: document_lengths has 3 where 2", self.train("packed", batch=1, expect=65).stderr)
        for option in (["--end-of-text", "x"], ["--tokenizer", "tok"]):
            refused = self.run_trainx("data", "pack", "alone.jsonl", "--sequence-length", 64, "--out", "x.jsonl", *option, expect=2).stderr
            self.assertIn(f"{option[0]} can have no effect on alone.jsonl", refused)
        self.assertIn("--end-of-text can have no effect", self.run_trainx("data", "inspect", "alone.jsonl", "--end-of-text", "x", expect=2).stderr)
        (self.folder / "m.bin").write_bytes(struct.pack("<5H", 1, 2, 3, 4, 5))        # Megatron's: documents of 2 and 3 tokens
        (self.folder / "m.idx").write_bytes(b"MMIDIDX\0\0" + struct.pack("<QBQQ2i2q3q", 1, 8, 2, 3, 2, 3, 0, 4, 0, 1, 2))
        for command in (["pack", "m.bin", "--sequence-length", 64, "--out", "x.jsonl"], ["inspect", "m.bin"]):
            self.assertIn("m.bin, whose index says where documents begin", self.run_trainx("data", *command, "--end-of-text", "x", expect=2).stderr)
        self.assertIn("2 documents", self.run_trainx("data", "pack", "m.bin", "--sequence-length", 64, "--out", "x.jsonl").stderr)
        self.assertIn("--sequence-length", self.run_trainx("data", "pack", "alone.jsonl", "--out", "x.jsonl", expect=2).stderr)
        self.assertIn("there already", self.run_trainx("data", "pack", "alone.jsonl", "--out", "packed_eval.jsonl", "--sequence-length", 64, expect=73).stderr)


if __name__ == "__main__":
    main()
