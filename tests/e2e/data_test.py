"""trainx data tokenize and inspect as a user runs them: files in, files out that train;
interruptions; mistakes."""
import json
import signal
import struct
import subprocess
import time
import unittest

import random_text
from support import TRAINX, Trainx, main

PAIRS = "label\ttext\ttext_pair\n" + "".join(
    f"{i % 2}\tThe cat sat {i}.\tA {'cat' if i % 2 else 'rat'} \"was\" sitting.\n"
    for i in range(40))


class Data(Trainx):
    forks = True

    def write(self, name, contents):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return name

    def tokens(self, name):
        raw = (self.folder / name).read_bytes()
        magic, version, count = struct.unpack("<3i", raw[:12])
        self.assertEqual((magic, version), (20240520, 1))
        return struct.unpack(f"<{count}H", raw[1024:])

    def test_text_to_tokens_to_a_look(self):
        sources = random_text.python_sources(300_000)
        for i, source in enumerate(sources):
            self.write(f"in/{i:03}.py", source)
        self.run_trainx("data", "tokenize", "in", "--tokenizer", "tok", "--train-vocab", 600,
                        "--out", "all.bin")
        ids = self.tokens("all.bin")
        self.assertEqual(ids.count(0), len([s for s in sources if s]))          # <|endoftext|>
        about = json.loads((self.folder / "all.bin.json").read_text())
        self.assertEqual((about["tokens"], about["end_of_text"], about["vocab_size"]),
                         (len(ids), 0, 600))
        # One line in is what the file has.
        line = self.run_trainx("data", "tokenize", "-", "--tokenizer", "tok",
                               text=json.dumps({"text": sources[0]}) + "\n").stdout
        self.assertEqual(tuple(json.loads(line)["input_ids"]), ids[:ids.index(0)])
        seen = self.run_trainx("data", "inspect", "all.bin", "--show", 1, "--tokens", 30,
                               "--sequence-length", 64).stdout
        self.assertIn(f"tokens     {len(ids)}, ids up to 599", seen)
        self.assertIn(f"documents  {ids.count(0)}, of", seen)
        answer = json.loads(
            self.run_trainx("data", "inspect", "all.bin", "--json", "--show", 1, "--tokens",
                            1 << 20).stdout)
        self.assertEqual(answer["shown"][0]["text"], sources[0] + "<|endoftext|>")
        self.recipe(
            "run: {name: x, duration: 2 steps}\nmodel: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 8, vocab_size: 600, max_positions: 64}}\n"
            "data: {type: tokens, train: all.bin, sequence_length: 64}\nbatch: {global_batch_size: 2, micro_batch_size: 1}\noptimizer: {type: adamw, lr: 1e-3}\n",
            "r.yaml")
        self.run_trainx("validate", "r.yaml")

    def test_pairs_become_samples(self):
        self.write("pairs.tsv", PAIRS)
        self.run_trainx("data", "tokenize", "pairs.tsv", "--tokenizer", "tok", "--train-vocab", 200,
                        "--kind", "wordpiece")
        self.run_trainx("data", "tokenize", "pairs.tsv", "--tokenizer", "tok", "--out",
                        "pairs.jsonl")
        lines = [
            json.loads(line) for line in (self.folder / "pairs.jsonl").read_text().splitlines()
        ]
        self.assertEqual([line["label"] for line in lines], [i % 2 for i in range(40)])
        for line in lines:
            self.assertEqual(line["input_ids"][0], 2)                             # [CLS]
            self.assertEqual(line["input_ids"].count(3), 2)                       # [SEP]
            self.assertEqual(len(line["token_type_ids"]), len(line["input_ids"]))
            self.assertEqual(line["token_type_ids"][-1], 1)
        seen = json.loads(
            self.run_trainx("data", "inspect", "pairs.jsonl", "--tokenizer", "tok",
                            "--sequence-length", 128, "--json").stdout)
        self.assertEqual((seen["samples"], seen["labels"]), (40, {"0": 20, "1": 20}))
        self.assertGreater(seen["padding_share"], 0)
        self.assertTrue(seen["shown"][0]["text"].startswith("[CLS] the cat sat 0. [SEP] a rat"))

    def test_a_killed_job_goes_on(self):
        text = "\n".join(random_text.python_sources(3_000_000)) * 6
        self.write("big.txt", text)
        self.run_trainx("data", "tokenize", "big.txt", "--tokenizer", "tok", "--train-vocab", 300,
                        "--threads", 1)
        self.run_trainx("data", "tokenize", "big.txt", "--tokenizer", "tok", "--out", "whole.bin")
        child = subprocess.Popen([
            TRAINX, "data", "tokenize", "big.txt", "--tokenizer", "tok", "--out", "cut.bin",
            "--threads", "1"
        ], cwd=self.folder, stderr=subprocess.DEVNULL)
        parts = self.folder / "cut.bin.parts"
        deadline = time.monotonic() + 60
        while len(list(
                parts.glob("part-*"))) < 3 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait()
        if (self.folder / "cut.bin").exists():
            self.skipTest("the job was done before it could be killed")
        done = json.loads(
            self.run_trainx("data", "tokenize", "big.txt", "--tokenizer", "tok", "--out", "cut.bin",
                            "--json").stdout)
        self.assertGreaterEqual(done["parts_before"], 3)
        self.assertEqual((self.folder / "cut.bin").read_bytes(),
                         (self.folder / "whole.bin").read_bytes())
        self.assertFalse(parts.exists())

    def test_mistakes(self):
        self.write("a.txt", "the cat\n")
        self.write("bad.txt", b"the\n\xff\n")
        self.run_trainx("data", "tokenize", "a.txt", "--tokenizer", "tok", "--train-vocab", 257)
        cases = [
            (["data"], 2, "tokenize|pack|inspect"),
            (["data", "tokenise"], 2, "did you mean 'tokenize'"),
            (["data", "tokenize", "a.txt"], 2, "--tokenizer"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok"], 2, "--out"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok", "--out", "a.dat"], 2, ".bin"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok", "--out",
              "a.jsonl"], 2, "no lines of samples"),
            ([
                "data", "tokenize", "a.txt", "--tokenizer", "tok", "--out", "a.bin", "--format",
                "jsonn"
            ], 2, "'jsonl'"),
            ([
                "data", "tokenize", "a.txt", "--tokenizer", "tok", "--out", "a.bin",
                "--end-of-text", "</s>"
            ], 2, "</s>"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok", "--train-vocab",
              "300"], 73, "tok"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok2", "--train-vocab",
              "100"], 2, "257"),
            (["data", "tokenize", "-", "--tokenizer", "tok", "--out", "a.bin"], 2, "stdout"),
            (["data", "tokenize", "a.txt", "--tokenizer", "tok", "--decode"], 2, "stdin"),
            (["data", "tokenize", "none.txt", "--tokenizer", "tok", "--out",
              "a.bin"], 66, "'none.txt'"),
            (["data", "tokenize", "a.txt", "--tokenizer", "none", "--out",
              "a.bin"], 66, "hf download none"),
            (["data", "tokenize", "bad.txt", "--tokenizer", "tok", "--out",
              "b.bin"], 65, "bad.txt:2:"),
            (["data", "inspect", "none.bin"], 66, "none.bin"),
            (["data", "inspect", "a.txt"], 65, "a.txt"),
        ]
        for arguments, code, names in cases:
            with self.subTest(" ".join(arguments)):
                done = self.run_trainx(*arguments, expect=code)
                self.assertIn(names, done.stderr)
                self.check_sentence("command.data/" + " ".join(arguments[1:]), done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        wrong = subprocess.run([TRAINX, "data", "tokenize", "-", "--tokenizer", "tok"],
                               cwd=self.folder, input='{"text": "a"}\n{"text": 1}\n',
                               capture_output=True, text=True)
        self.assertEqual((wrong.returncode, wrong.stdout), (65, ""))
        self.assertIn("stdin:2: ", wrong.stderr)
        self.check_sentence("command.data.not_text", wrong.stderr)


if __name__ == "__main__":
    main()
