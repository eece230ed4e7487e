"""scripts/text_to_model as it stands: raw text to trained models with trainx alone. What each step
left behind is what it should have; checkpoints keep the tokenizer of their data."""
import collections
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

from support import ROOT, TRAINX, Trainx, main

MAKE_TEXT = ROOT / "scripts" / "make_text"
SCRIPT = ROOT / "scripts" / "text_to_model"
LENGTH = 128                            # of configs/smoke/gpt2_text.yaml
PROMPT = "Under the bridge, Lena mends a white clock."


def make_text(*arguments):
    return subprocess.run([MAKE_TEXT, *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


def run_script(folder, trainx):
    return subprocess.run([SCRIPT, folder], capture_output=True, text=True, timeout=900,
                          env=os.environ | {"TRAINX": str(trainx), "CUDA_VISIBLE_DEVICES": ""})


class TextToModel(Trainx):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="trainx-e2e-")
        cls.addClassCleanup(temporary.cleanup)
        cls.way = pathlib.Path(temporary.name) / "way"
        cls.done = run_script(cls.way, TRAINX)
        if cls.done.returncode != 0:
            raise AssertionError(f"{cls.done.stdout}\n{cls.done.stderr}")

    def setUp(self):
        super().setUp()
        self.folder = self.way          # all that is here is read, or beside what the script made

    def lines(self, name):
        return (self.way / name).read_text().splitlines()

    def documents(self, name):
        """Of a token file, by the token that ends each."""
        raw = (self.way / name).read_bytes()
        ids = struct.unpack(f"<{(len(raw) - 1024) // 2}H", raw[1024:])
        about = json.loads((self.way / f"{name}.json").read_text())
        self.assertEqual((struct.unpack("<3i", raw[:12]), about["tokens"]),
                         ((20240520, 1, len(ids)), len(ids)))
        out, begin = [], 0
        for i, token in enumerate(ids):
            if token == about["end_of_text"]:
                out.append(ids[begin:i + 1])
                begin = i + 1
        self.assertEqual(begin, len(ids), "the last token ends a document")
        self.assertEqual(about["documents"], len(out))
        return out

    def last_evaluation(self, run):
        return [
            m for m in map(json.loads, self.lines(f"outputs/{run}/metrics.jsonl"))
            if "eval_loss" in m
        ][-1]

    def test_text_becomes_tokens_and_rows_that_hold_all_of_it(self):
        texts = [json.loads(line)["text"] for line in self.lines("text/train.jsonl")]
        held_out = [p.read_text() for p in sorted((self.way / "text/held_out").iterdir())]
        self.assertEqual((len(texts), len(held_out)), (6000, 500))
        for name, count in (("train", 6000), ("held_out", 500)):
            documents = self.documents(f"data/{name}.bin")
            self.assertEqual(len(documents), count)
            pieces = []
            for row in map(json.loads, self.lines(f"data/{name}.jsonl")):
                self.assertEqual(sum(row["document_lengths"]), len(row["input_ids"]))
                self.assertLessEqual(len(row["input_ids"]), LENGTH)
                begin = 0
                for length in row["document_lengths"]:
                    pieces.append(tuple(row["input_ids"][begin:begin + length]))
                    begin += length
            # A document that is longer than a row goes on in a piece that begins with the last
            # token of the one before.
            want = [
                d[i:i + LENGTH] for d in documents for i in range(0, max(1,
                                                                         len(d) - 1), LENGTH - 1)
            ]
            self.assertEqual(collections.Counter(pieces), collections.Counter(want))
            self.assertLess(len(self.lines(f"data/{name}.jsonl")), 0.6 * len(want),
                            "several documents share a row")
        for text, document in [(texts[i], self.documents("data/train.bin")[i]) for i in (0, 1, 5999)
                               ] + [(held_out[499], self.documents("data/held_out.bin")[499])]:
            decoded = self.run_trainx("data", "tokenize", "-", "--tokenizer", "data/bpe",
                                      "--decode", "--plain",
                                      text=json.dumps({"input_ids": document}) + "\n").stdout
            self.assertEqual(json.loads(decoded)["text"], text)

    def test_made_text_repeats_by_seed_and_keeps_its_held_out_facts_apart(self):
        a, b = self.way / "a.tsv", self.way / "b.tsv"
        make_text("pairs", a, "--count", 300, "--seed", self.seed)
        make_text("pairs", b, "--count", 300, "--seed", self.seed)
        self.assertEqual(a.read_bytes(), b.read_bytes())
        make_text("pairs", b, "--count", 300, "--seed", self.seed + 1)
        self.assertNotEqual(a.read_bytes(), b.read_bytes())
        parts = {}
        for part, count in (("train", 8000), ("held_out", 500)):
            rows = [line.split("\t") for line in self.lines(f"text/pairs_{part}.tsv")]
            self.assertEqual((rows[0], len(rows) - 1), (["text", "text_pair", "label"], count))
            self.assertLess(abs(sum(int(label) for *_, label in rows[1:]) / count - 0.5), 0.1)
            parts[part] = {text for *pair, _ in rows[1:] for text in pair}
        self.assertFalse(parts["train"] & parts["held_out"])
        told = " ".join(json.loads(line)["text"] for line in self.lines("text/train.jsonl"))
        self.assertFalse([text for text in parts["held_out"] if text in told])

    def test_the_models_know_more_than_counts_do(self):
        documents = {
            name: [t
                   for d in self.documents(f"data/{name}.bin")
                   for t in d]
            for name in ("train", "held_out")
        }
        counts = collections.Counter(documents["train"])
        unigram = -sum(
            math.log((counts[t] + 1) / (len(documents["train"]) + 512))
            for t in documents["held_out"]) / len(documents["held_out"])
        told = json.loads(
            make_text("baseline", self.way / "data/train.bin", self.way / "data/held_out.bin"))
        self.assertAlmostEqual(told["unigram"], unigram, delta=0.01)
        self.assertLess(told["bigram"], told["unigram"])
        for run in ("smoke-gpt2-text", "smoke-gpt2-packed"):
            loss = self.last_evaluation(run)["eval_loss"]
            print(
                f"  {run}: {loss:.4f} nats per token, pairs of tokens {told['bigram']:.4f}, tokens alone {unigram:.4f}, chance {math.log(512):.4f}"
            )
            self.assertLess(loss, 0.7 * told["bigram"])
            self.assertGreater(loss, 0.3, "a grammar that draws words has entropy")
        pairs = self.last_evaluation("smoke-bert-pairs")
        print(
            f"  smoke-bert-pairs: accuracy {pairs['eval_accuracy']:.3f}, F1 {pairs['eval_f1']:.3f}")
        self.assertGreater(pairs["eval_accuracy"], 0.9)
        self.assertGreater(pairs["eval_f1"], 0.9)
        gaps = json.loads(
            make_text("baseline", self.way / "data/mlm_train.jsonl",
                      self.way / "data/mlm_held_out.jsonl"))
        loss = self.last_evaluation("smoke-bert-mlm")["eval_loss"]
        print(f"  smoke-bert-mlm: {loss:.4f}, tokens alone {gaps['unigram']:.4f}")
        self.assertLess(loss, 0.85 * gaps["unigram"])

    def test_text_comes_out_of_the_models(self):
        words = set(make_text("words").split())
        for name, prompt in (("generated.txt", "In the barn, Mara keeps a red kite."),
                             ("generated_packed.txt", "Tom hides a blue drum")):
            text = (self.way / name).read_text().rstrip("\n")
            self.assertTrue(text.startswith(prompt), text)
            said = re.findall(r"[A-Za-z]+", text)
            self.assertGreater(len(said), len(prompt.split()) + 10, text)
            self.assertLessEqual(set(said[:-1]), words, text)       # the last may be cut off
        # The tokenizer in the checkpoints is the data's; the exported folder has it too.
        greedy = ("--prompt", PROMPT, "--max-tokens", 20, "--temperature", 0)
        by_itself = self.run_trainx("generate", "outputs/smoke-gpt2-text", *greedy).stdout
        self.assertTrue(by_itself.startswith(PROMPT))
        self.assertEqual(
            self.run_trainx("generate", "outputs/smoke-gpt2-text", *greedy, "--tokenizer",
                            "data/bpe").stdout, by_itself)
        self.assertTrue(self.run_trainx("generate", "model", *greedy).stdout.startswith(PROMPT))
        for folder, tokenizer in (("outputs/smoke-gpt2-text/latest", "bpe"),
                                  ("outputs/smoke-gpt2-packed/latest", "bpe"), ("model", "bpe"),
                                  ("outputs/smoke-bert-pairs/latest",
                                   "wordpiece"), ("outputs/smoke-bert-mlm/latest", "wordpiece")):
            for name in ("tokenizer.json", "tokenizer_config.json"):
                self.assertEqual((self.way / folder / name).read_bytes(),
                                 (self.way / "data" / tokenizer / name).read_bytes(), folder)

    def test_a_tokenizer_that_is_gone_stays_in_runs_that_had_it(self):
        tokenizer, away = self.way / "data/bpe", self.way / "data/away"
        want = (tokenizer / "tokenizer.json").read_bytes()
        tokenizer.rename(away)
        self.addCleanup(away.rename, tokenizer)
        recipe = ROOT / "configs/smoke/gpt2_text.yaml"
        self.run_trainx("train", recipe, "run.duration=202 steps")
        self.assertEqual(
            (self.way / "outputs/smoke-gpt2-text/checkpoint-202/tokenizer.json").read_bytes(), want)
        done = self.run_trainx("train", recipe, "run.duration=2 steps", "schedule.warmup=1 steps",
                               "run.name=bare")
        self.check_sentence(
            "train.no_tokenizer_to_carry",
            next(line for line in done.stderr.splitlines() if "data/bpe/tokenizer.json" in line))
        self.assertFalse((self.way / "outputs/bare/latest/tokenizer.json").exists())
        self.assertIn(
            "--tokenizer",
            self.run_trainx("generate", "outputs/bare", "--prompt", PROMPT, expect=65).stderr)

    def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(self):
        about = self.way / "data/held_out.bin.json"
        said = about.read_text()
        self.addCleanup(about.write_text, said)
        about.write_text(json.dumps(json.loads(said) | {"vocab_size": 513}))
        self.refused("train", ROOT / "configs/smoke/gpt2_text.yaml", "data.train=data/held_out.bin",
                     "data.eval=data/train.bin", "run.duration=2 steps", "schedule.warmup=1 steps",
                     "run.name=large", key="model.options.vocab_size", names=["513"])
        self.assertFalse((self.way / "outputs/large").exists())

    def test_the_report_tells_of_the_run(self):
        page = (self.way / "outputs/smoke-gpt2-text/report.html").read_text()
        for words in ("smoke-gpt2-text", "held out", "checkpoint-200", "data/train.bin"):
            self.assertIn(words, page)

    def test_the_full_recipes_take_this_data(self):
        for name in ("gpt2_text", "bert_mlm"):
            self.run_trainx("validate", ROOT / f"configs/{name}.yaml",
                            "schedule.warmup=1 steps")  # their own is longer than this little text
        # As that one says, from a checkpoint of masked_lm; its tokenizer goes along.
        self.run_trainx("train", ROOT / "configs/bert_pairs.yaml",
                        "model.init_from=outputs/smoke-bert-mlm/latest", "data.sequence_length=32",
                        "run.duration=3 steps", "schedule.warmup=1 steps", "precision.compute=fp32")
        self.assertTrue((self.way / "outputs/bert-pairs/latest/tokenizer.json").exists())

    def test_the_recipe_that_fine_tunes_a_decoder_takes_this_data(self):
        short = ("run.duration=3 steps", "schedule.warmup=1 steps", "run.device=cpu")
        self.run_trainx("train", ROOT / "configs/smoke/qwen3.yaml", "model.options.vocab_size=512",
                        *short)
        self.run_trainx("train", ROOT / "configs/qwen3_0.6b.yaml",
                        "model.init_from=outputs/smoke-qwen3/latest", "data.sequence_length=32",
                        *short)
        self.assertIn("qwen3", (self.way / "outputs/qwen3-0.6b/latest/config.json").read_text())
        self.assertTrue((self.way / "outputs/qwen3-0.6b/latest/tokenizer.json").exists())

    def test_the_script_says_its_commands_and_stops_at_the_first_that_fails(self):
        said = [line for line in self.done.stderr.splitlines() if line.startswith("$ trainx ")]
        for command in (
                "data tokenize text/train.jsonl --tokenizer data/bpe --train-vocab 512 --out data/train.bin",
                "data pack data/train.bin", "train configs/smoke/gpt2_text.yaml",
                "eval outputs/smoke-gpt2-text",
                "generate outputs/smoke-gpt2-text --prompt 'In the barn, Mara keeps a red kite.'",
                "report ", "export "):
            self.assertTrue([line for line in said if line.startswith("$ trainx " + command)],
                            command)
        self.assertEqual(run_script(self.way, TRAINX).returncode, 73)
        broken = self.way / "broken-trainx"
        broken.write_text('#!/bin/sh\n[ "$2" = pack ] && exit 9\nexec "' + TRAINX + '" "$@"\n')
        broken.chmod(0o755)
        done = run_script(self.way / "broken", broken)
        self.assertEqual(done.returncode, 9)
        self.assertRegex(done.stderr.strip().splitlines()[-1], r"^\$ trainx data pack ")


if __name__ == "__main__":
    main()
